use tidegate::prelude::*;

#[tidegate::function]
struct Words;

impl Unkeyed for Words {
    type In = Bytes;
    type Out = Forward;

    fn on_record(&mut self, _: &[u8], cx: &mut Context<Self>) -> Result {
        cx.key();
        Ok(())
    }
}

fn main() {}
