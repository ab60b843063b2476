use tidegate::prelude::*;

#[derive(Schema)]
struct Outer {
    #[serde(flatten)]
    inner: String,
}

fn main() {}
