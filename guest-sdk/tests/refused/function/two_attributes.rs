use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[state]
    #[scratch]
    seen: Value<bool>,
}

fn main() {}
