use tidegate::prelude::*;

struct Order {
    amount: f64,
}

#[tidegate::function]
struct Orders;

impl Keyed for Orders {
    type In = Fields<Order>;
    type Out = Forward;

    fn on_record(&mut self, order: Order, cx: &mut Context<Self>) -> Result {
        let _ = order.amount;
        cx.forward();
        Ok(())
    }
}

fn main() {}
