use tidegate::prelude::*;

struct Opaque;

#[derive(Schema)]
struct Outer {
    inner: Opaque,
}

fn main() {}
