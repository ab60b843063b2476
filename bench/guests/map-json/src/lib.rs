//! Two fields of an order go on, as a new record.

use tidegate::prelude::*;

/// What is read of an order, and what goes on.
#[derive(Fields)]
pub struct Order<'a> {
    event_id: &'a str,
    amount: f64,
}

/// Reads two typed fields and writes them.
#[tidegate::function]
pub struct MapJson;

impl Unkeyed for MapJson {
    type In = Fields<Order<'static>>;
    type Out = Fields<Order<'static>>;

    fn on_record(&mut self, order: Order<'_>, cx: &mut Context<Self>) -> Result {
        cx.emit(&order);
        Ok(())
    }
}
