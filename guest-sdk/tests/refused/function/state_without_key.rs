use tidegate::prelude::*;

#[tidegate::function]
struct Dedup {
    #[state]
    seen: Value<bool>,
}

impl Unkeyed for Dedup {
    type In = Bytes;
    type Out = Forward;

    fn on_record(&mut self, _: &[u8], _: &mut Context<Self>) -> Result {
        self.seen.set(true);
        Ok(())
    }
}

fn main() {}
