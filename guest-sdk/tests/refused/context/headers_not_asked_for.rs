use tidegate::prelude::*;

#[tidegate::function]
struct Words;

impl Keyed for Words {
    type In = KeyOnly;
    type Out = Forward;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        drop(cx.headers());
        Ok(())
    }
}

fn main() {}
