use tidegate::prelude::*;

#[derive(Fields)]
struct Order<'a> {
    #[field(path = "/customer")]
    customer: &'a str,
}

fn main() {}
