use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    seen: Value<bool>,
    config: u64,
}

fn main() {}
