use tidegate::prelude::*;

#[derive(Fields)]
struct Order {}

fn main() {}
