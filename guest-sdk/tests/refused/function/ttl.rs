use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[state(ttl = "7 moons")]
    seen: Value<bool>,
    #[state(ttl = 7)]
    number: Value<bool>,
    #[state(ttl = "0s")]
    nothing: Value<bool>,
}

fn main() {}
