use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[state]
    seen: Value<bool>,
    #[state(name = "seen")]
    other: Value<bool>,
}

fn main() {}
