use tidegate::prelude::*;

#[tidegate::function]
struct Totals {
    #[state]
    total: u64,
}

fn main() {}
