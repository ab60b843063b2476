use tidegate::prelude::*;

#[derive(Config)]
struct Settings {
    at: std::time::Instant,
}

fn main() {}
