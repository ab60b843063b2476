use tidegate::prelude::*;

#[derive(Inputs)]
enum Event {
    Ping,
}

fn main() {}
