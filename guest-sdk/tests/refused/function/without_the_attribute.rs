use tidegate::prelude::*;

struct Dedup;

impl Keyed for Dedup {
    type In = KeyOnly;
    type Out = Forward;

    fn on_record(&mut self, _: (), _: &mut Context<Self>) -> Result {
        Ok(())
    }
}

fn main() {}
