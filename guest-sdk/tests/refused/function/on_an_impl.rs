use tidegate::prelude::*;

struct Dedup;

#[tidegate::function]
impl Dedup {}

fn main() {}
