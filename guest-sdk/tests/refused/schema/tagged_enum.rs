use tidegate::prelude::*;

#[derive(Schema)]
#[serde(tag = "kind")]
enum Event {
    Opened,
}

fn main() {}
