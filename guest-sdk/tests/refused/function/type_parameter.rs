use tidegate::prelude::*;

#[tidegate::function]
struct Dedup<T> {
    #[state]
    seen: Value<T>,
}

fn main() {}
