use tidegate::prelude::*;

#[derive(Fields)]
struct Order<T> {
    amount: T,
}

fn main() {}
