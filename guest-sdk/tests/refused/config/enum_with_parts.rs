use tidegate::prelude::*;

#[derive(Config)]
enum Mode {
    Window(u64),
}

fn main() {}
