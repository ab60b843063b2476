use tidegate::prelude::*;

#[derive(Config)]
struct Settings {}

#[tidegate::function]
struct Dedup {
    #[config]
    one: Settings,
    #[config]
    two: Settings,
}

fn main() {}
