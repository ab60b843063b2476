use tidegate::prelude::*;

#[derive(Inputs)]
struct Event {
    id: String,
}

fn main() {}
