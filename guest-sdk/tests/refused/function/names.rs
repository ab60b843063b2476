use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[state(name = "seen it")]
    seen: Value<bool>,
    #[output(name = "main")]
    other: Output<Forward>,
    #[state(version = 0)]
    old: Value<bool>,
}

fn main() {}
