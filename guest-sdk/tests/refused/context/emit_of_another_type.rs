use tidegate::prelude::*;

#[tidegate::function]
struct Words;

impl Keyed for Words {
    type In = KeyOnly;
    type Out = Utf8;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        cx.emit(b"word");
        Ok(())
    }
}

fn main() {}
