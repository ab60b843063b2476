use tidegate::prelude::*;

#[derive(Fields)]
struct Order<'a> {
    #[field("/a~b")]
    customer: &'a str,
}

fn main() {}
