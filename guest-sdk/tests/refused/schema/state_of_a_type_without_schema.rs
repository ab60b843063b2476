use tidegate::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Total {
    cents: i64,
}

#[tidegate::function]
struct Totals {
    #[state]
    total: Value<Total>,
}

fn main() {}
