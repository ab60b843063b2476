use tidegate::prelude::*;

#[derive(Fields)]
struct Order<'a, 'b> {
    one: &'a str,
    two: &'b str,
}

fn main() {}
