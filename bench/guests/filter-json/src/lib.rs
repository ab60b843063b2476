//! An order goes on if its amount is above 500.

use tidegate::prelude::*;

/// What is read of an order.
#[derive(Fields)]
pub struct Order {
    amount: f64,
}

/// Reads one typed field; the value stays with the host.
#[tidegate::function]
pub struct FilterJson;

impl Unkeyed for FilterJson {
    type In = Fields<Order>;
    type Out = Forward;

    fn on_record(&mut self, order: Order, cx: &mut Context<Self>) -> Result {
        if order.amount > 500.0 {
            cx.forward();
        }
        Ok(())
    }
}
