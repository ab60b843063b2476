use tidegate::prelude::*;

#[tidegate::function(assign)]
struct Lines;

fn main() {}
