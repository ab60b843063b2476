use tidegate::prelude::*;

#[tidegate::function]
struct Dedup(Value<bool>);

fn main() {}
