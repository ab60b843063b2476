use tidegate::prelude::*;

#[derive(Fields)]
struct Order<'a> {
    #[field("customer.id")]
    customer: &'a str,
}

fn main() {}
