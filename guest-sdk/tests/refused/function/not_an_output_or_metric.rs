use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[output]
    late: Forward,
    #[metric]
    count: u64,
}

fn main() {}
