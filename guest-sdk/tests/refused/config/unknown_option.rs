use tidegate::prelude::*;

#[derive(Config)]
struct Settings {
    #[config(optional)]
    limit: u32,
}

fn main() {}
