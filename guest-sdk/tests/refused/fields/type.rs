use tidegate::prelude::*;

#[derive(Fields)]
struct Order {
    items: Vec<String>,
}

fn main() {}
