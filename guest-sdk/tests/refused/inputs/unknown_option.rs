use tidegate::prelude::*;

#[derive(Inputs)]
enum Event {
    #[input(title = "orders", Utf8)]
    Orders(String),
}

fn main() {}
