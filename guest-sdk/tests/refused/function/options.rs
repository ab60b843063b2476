use tidegate::prelude::*;

#[tidegate::function(keyed)]
struct Dedup;

fn main() {}
