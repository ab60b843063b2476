//! An alert for every order that is not paid in time.
//!
//! An order sets a timer; its payment takes it back if it is in time by its own event time. So the alerts do not depend
//! on when records happened to be read: a payment that is too late changes nothing, whether the alert has been sent
//! already or not, and one that is read before its order is remembered until that comes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate::prelude::*;

/// What is read of an event of an order, which is the key.
#[derive(Fields)]
pub struct Event<'a> {
    kind: &'a str,
    customer: Option<&'a str>,
    amount: Option<f64>,
}

/// An order that is not paid.
#[derive(Fields)]
pub struct Alert<'a> {
    order: &'a str,
    customer: &'a str,
    amount: f64,
    ordered: Timestamp,
    due: Timestamp,
}

/// What the job file says under `config`.
#[derive(Config)]
pub struct Settings {
    /// How long a customer may take to pay.
    patience_minutes: u64,
}

/// What is kept of an order until it is paid, or due.
#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct Order {
    customer: String,
    amount: f64,
    ordered: Timestamp,
}

/// Waits for payments.
#[tidegate::function(timers)]
pub struct UnpaidOrders {
    #[config]
    settings: Settings,
    #[state]
    order: Value<Order>,
    /// When an order was paid that did not come yet.
    #[state(ttl = "1d", clock = "event-time", refresh = "on-create")]
    paid: Value<Timestamp>,
}

impl Keyed for UnpaidOrders {
    type In = Fields<Event<'static>>;
    type Out = Fields<Alert<'static>>;

    fn on_record(&mut self, event: Event<'_>, cx: &mut Context<Self>) -> Result {
        let Some(at) = cx.event_time() else { bail!("the event has no time") };
        match event.kind {
            "ordered" => {
                let due = self.due(at);
                if self.paid.take()?.is_some_and(|paid| paid < due) {
                    return Ok(());
                }
                let customer = event.customer.unwrap_or_default().to_owned();
                self.order.set(Order { customer, amount: event.amount.unwrap_or_default(), ordered: at });
                cx.set_timer(due);
            }
            "paid" => match self.order.get()?.map(|order| order.ordered) {
                Some(ordered) if at < self.due(ordered) => {
                    self.order.clear();
                    cx.cancel_timer(self.due(ordered));
                }
                // Too late: the alert is sent, or about to be.
                Some(_) => {}
                None => self.paid.set(at),
            },
            other => bail!("`kind` is `{other}`: expected `ordered` or `paid`"),
        }
        Ok(())
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Context<Self>) -> Result {
        if let Some(Order { customer, amount, ordered }) = self.order.take()? {
            let order = cx.key_text()?;
            cx.emit(&Alert { order, customer: &customer, amount, ordered, due: timer.at() });
        }
        Ok(())
    }
}

impl UnpaidOrders {
    fn due(&self, ordered: Timestamp) -> Timestamp {
        ordered.plus(Duration::from_secs(self.settings.patience_minutes.saturating_mul(60)))
    }
}

#[cfg(test)]
mod tests;
