//! Timers: calls that a function asks for, for a key, at a time.
//!
//! # Invariants
//! 1. A batch tells the host once what became of a timer, whatever its records asked for one after the other.
//! 2. A function without timers pays nothing for this, and its component does not import them.

use crate::bindings::types::{Clock, RowKind};
use crate::{Timestamp, host};

/// A timer that fired; see [`Keyed::on_timer`](crate::Keyed::on_timer).
///
/// A function that sets timers says so with `#[tidegate::function(timers)]`. Timers belong to the current key, and are
/// kept with its state: no crash, restore or rescale loses or doubles one. There is one per key, clock and time.
///
/// Event-time timers ([`Context::set_timer`](crate::Context::set_timer)) fire when the watermark comes to their time,
/// after the records that came before it; those of a key in the order of their times. They need a source with a
/// `watermark`; without one they fire at the end of the input. Processing-time timers
/// ([`Context::set_processing_timer`](crate::Context::set_processing_timer)) wait for the host's clock.
///
/// In `on_timer` state is seen as by a record of that time, and what is sent has that time and the timer's key. What
/// a timer sets fires as well if its time has come, if it is later than the timer itself; what is not waits for the
/// next rise of the clock. So a timer that sets itself anew is called again, and again, and stops nothing.
/// After the end of the input the watermark is [`Timestamp::END`], and every time has come: a timer that always sets
/// a later one should look at it, or it is stopped after a thousand calls, what it set last staying set. The calls are
/// counted from each start or recovery of the job anew: what stayed set fires again when the end comes again.
///
/// ```
/// use std::time::Duration;
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Event<'a> {
///     kind: &'a str,
/// }
///
/// /// Reports orders, by their id as the key, that were not paid within half an hour.
/// #[tidegate::function(timers)]
/// struct Unpaid {
///     #[state]
///     ordered: Value<Timestamp>,
/// }
///
/// const PATIENCE: Duration = Duration::from_secs(30 * 60);
///
/// impl Keyed for Unpaid {
///     type In = Fields<Event<'static>>;
///     type Out = Utf8;
///
///     fn on_record(&mut self, event: Event<'_>, cx: &mut Context<Self>) -> Result {
///         let at = cx.event_time().unwrap_or_default();
///         if event.kind == "ordered" {
///             self.ordered.set(at);
///             cx.set_timer(at.plus(PATIENCE));
///         } else if let Some(ordered) = self.ordered.take()? {
///             cx.cancel_timer(ordered.plus(PATIENCE));
///         }
///         Ok(())
///     }
///
///     fn on_timer(&mut self, _: Timer, cx: &mut Context<Self>) -> Result {
///         self.ordered.clear();
///         cx.emit(&format!("{} is not paid", cx.key_text()?));
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let event = |order: &str, kind: &str, minute: i64| {
///     Record::json(&format!(r#"{{"kind": "{kind}"}}"#)).key(order).event_time(minute * 60_000)
/// };
/// let mut unpaid = Harness::<Unpaid>::new();
/// unpaid.run([event("1", "ordered", 0), event("2", "ordered", 1), event("1", "paid", 5)]);
/// assert!(unpaid.advance_watermark(30 * 60_000).main().is_empty());
/// let run = unpaid.advance_watermark(31 * 60_000);
/// assert_eq!(run.main()[0].text(), "2 is not paid");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer {
    at: Timestamp,
    clock: TimerClock,
}

/// The clock that a timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerClock {
    /// The watermark: how far event time has come.
    EventTime,
    /// The host's clock.
    ProcessingTime,
}

impl Timer {
    /// The time it was set for.
    #[must_use]
    pub fn at(self) -> Timestamp {
        self.at
    }

    /// What it waited for.
    #[must_use]
    pub fn clock(self) -> TimerClock {
        self.clock
    }

    /// The timer in a row; `None` for a record.
    pub(crate) fn of_row(kind: RowKind, at: i64) -> Option<Self> {
        let clock = match kind {
            RowKind::Entry => return None,
            RowKind::EventTimer => TimerClock::EventTime,
            RowKind::ProcessingTimer => TimerClock::ProcessingTime,
        };
        Some(Self { at: Timestamp::from_millis(at), clock })
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn new(clock: TimerClock, at: Timestamp) -> Self {
        Self { at, clock }
    }
}

/// A function that sets timers; implemented by `#[tidegate::function(timers)]`.
#[diagnostic::on_unimplemented(message = "`{Self}` sets no timers", note = "write `#[tidegate::function(timers)]`")]
pub trait SetsTimers {}

/// One request of a record.
#[derive(Clone, Copy)]
struct Request {
    slot: u32,
    at: i64,
    set: bool,
}

/// What the records of a batch asked for, by clock, in the order of the calls.
#[derive(Default)]
pub(crate) struct Requests {
    event_time: Vec<Request>,
    processing_time: Vec<Request>,
    slots: Vec<u32>,
    times: Vec<i64>,
}

impl Requests {
    pub(crate) fn clear(&mut self) {
        self.event_time.clear();
        self.processing_time.clear();
    }

    #[inline]
    pub(crate) fn note(&mut self, clock: Clock, slot: u32, at: Timestamp, set: bool) {
        let requests = match clock {
            Clock::EventTime => &mut self.event_time,
            Clock::ProcessingTime => &mut self.processing_time,
        };
        requests.push(Request { slot, at: at.millis(), set });
    }

    /// Tells the host the last word on every timer.
    pub(crate) fn send(&mut self) {
        for (clock, requests) in
            [(Clock::EventTime, &mut self.event_time), (Clock::ProcessingTime, &mut self.processing_time)]
        {
            if requests.is_empty() {
                continue;
            }
            // Stable: of one timer the last request stays last.
            requests.sort_by_key(|request| (request.slot, request.at));
            for set in [false, true] {
                self.slots.clear();
                self.times.clear();
                for (at, request) in requests.iter().enumerate() {
                    let next = requests.get(at + 1);
                    let is_last = next.is_none_or(|next| (next.slot, next.at) != (request.slot, request.at));
                    if is_last && request.set == set {
                        self.slots.push(request.slot);
                        self.times.push(request.at);
                    }
                }
                match set {
                    _ if self.slots.is_empty() => {}
                    true => host::enable(clock, &self.slots, &self.times),
                    false => host::cancel(clock, &self.slots, &self.times),
                }
            }
        }
    }
}
