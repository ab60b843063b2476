use tidegate::prelude::*;

struct Settings {
    limit: u32,
}

#[tidegate::function]
struct Dedup {
    #[config]
    settings: Settings,
}

fn main() {}
