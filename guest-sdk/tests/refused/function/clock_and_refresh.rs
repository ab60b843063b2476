use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[state(clock = "event-time")]
    without_ttl: Value<bool>,
    #[state(ttl = "7d", clock = "wall-clock")]
    wall: Value<bool>,
    #[state(ttl = "7d", refresh = "never")]
    never: Value<bool>,
}

fn main() {}
