use tidegate::prelude::*;

#[derive(Fields)]
struct Word<'a> {
    word: &'a str,
}

#[tidegate::function]
struct Words;

impl Keyed for Words {
    type In = KeyOnly;
    type Out = Fields<Word<'static>>;

    fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
        cx.forward();
        Ok(())
    }
}

fn main() {}
