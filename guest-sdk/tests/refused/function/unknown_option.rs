use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[state(tll = "7d")]
    seen: Value<bool>,
    #[output(title = "late")]
    late: Output<Forward>,
    #[metric(kind = "gauge")]
    count: Count,
    #[config(default)]
    config: u64,
}

fn main() {}
