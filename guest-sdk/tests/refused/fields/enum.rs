use tidegate::prelude::*;

#[derive(Fields)]
enum Order {
    Placed,
}

fn main() {}
