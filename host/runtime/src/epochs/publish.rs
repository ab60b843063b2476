//! The threads that publish: one for each sink that stages.
//!
//! # Invariants
//! 1. Epochs are published in rising order; a later one waits for an earlier one, however long that takes.
//! 2. An epoch in which nothing was staged is not published at the target.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use contract::{Error, Publisher, StagedOutput};
use fail::fail_point;
use model::{Blame, Epoch, OperatorUid, Retry};

use super::link::{EpochLink, Message};
use super::parting::{Hand, Parting};
use super::work::Done;
use crate::backoff::Backoff;
use crate::control::Control;

/// What to publish.
struct Order {
    epoch: Epoch,
    staged: Vec<StagedOutput>,
}

/// A sink that stages.
pub(crate) struct PublishingSink {
    pub(crate) uid: OperatorUid,
    /// As many wait as complete epochs may be unpublished.
    orders: Option<Sender<Order>>,
    thread: Option<Hand>,
    parting: Arc<Parting>,
}

impl PublishingSink {
    /// The sink `number` of the coordinator's.
    pub(crate) fn start(
        number: usize,
        uid: OperatorUid,
        publisher: Box<dyn Publisher>,
        link: Arc<EpochLink>,
        control: Arc<Control>,
        parting: Arc<Parting>,
    ) -> Result<Self, std::io::Error> {
        let (orders, queue) = channel();
        let thread = Hand::start(format!("publish-{uid}"), move || {
            control.register();
            publish(number, publisher, &queue, &link, &control);
        })?;
        Ok(Self { uid, orders: Some(orders), thread: Some(thread), parting })
    }

    pub(crate) fn publish(&self, epoch: Epoch, staged: Vec<StagedOutput>) {
        if let Some(orders) = &self.orders {
            // Who left has stopped the job.
            orders.send(Order { epoch, staged }).ok();
        }
    }
}

impl Drop for PublishingSink {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            thread.part(&self.parting);
        }
    }
}

fn publish(
    sink: usize,
    mut publisher: Box<dyn Publisher>,
    queue: &Receiver<Order>,
    link: &EpochLink,
    control: &Control,
) {
    while let Ok(Order { epoch, staged }) = queue.recv() {
        let mut backoff = Backoff::new();
        loop {
            if control.is_stopped() {
                return;
            }
            fail_point!("before-publish");
            let published = if staged.is_empty() { Ok(()) } else { attempt(publisher.as_mut(), epoch, &staged) };
            fail_point!("after-publish");
            let tell = |done| link.tell(Message::Done(Box::new(done)));
            match published {
                Ok(()) => {
                    tell(Done::Published { sink, epoch });
                    break;
                }
                Err(error) if error.retry() != Retry::Backoff => {
                    tell(Done::Unpublishable { sink, epoch, error });
                    return;
                }
                Err(error) => tell(Done::NotPublished { sink, epoch, error }),
            }
            if !backoff.pause(control) {
                return;
            }
        }
    }
}

/// One call of the publisher.
fn attempt(publisher: &mut dyn Publisher, epoch: Epoch, staged: &[StagedOutput]) -> Result<(), Error> {
    let published = catch_unwind(AssertUnwindSafe(|| publisher.publish(epoch, staged)));
    published.unwrap_or_else(|_| {
        let message = format!("publishing epoch {epoch} panicked");
        Err(Error::new(Blame::Host, Retry::RestoreFirst, message).with_code("E0520"))
    })
}

#[cfg(test)]
mod tests;
