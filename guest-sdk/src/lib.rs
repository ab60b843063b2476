//! Write Tidegate functions: typed records in, keyed state, records out.
//!
//! A function is a struct. It sees one record at a time, the state of that record's key, and nothing
//! else: no clock, no files, no network. The host partitions the records, keeps the state, and makes
//! sure that a record counts once, whatever crashes.
//!
//! ```
//! use tidegate::prelude::*;
//!
//! /// The host cuts these fields out of the value, whatever its format.
//! #[derive(Fields)]
//! struct Order<'a> {
//!     #[field("/customer/id")]
//!     customer: &'a str,
//!     amount: f64,
//!     note: Option<&'a str>,
//! }
//!
//! /// Lets each order through once.
//! #[tidegate::function]
//! struct Dedup {
//!     #[state(ttl = "7d", clock = "event-time", refresh = "on-create")]
//!     seen: Value<bool>,
//!     #[metric]
//!     duplicates: Count,
//! }
//!
//! impl Keyed for Dedup {
//!     type In = Fields<Order<'static>>;
//!     type Out = Forward;
//!
//!     fn on_record(&mut self, order: Order<'_>, cx: &mut Context<Self>) -> Result {
//!         if order.amount < 0.0 {
//!             bail!("order of {} has the amount {}: expected at least 0", order.customer, order.amount);
//!         }
//!         if self.seen.get()?.is_none() {
//!             self.seen.set(true);
//!             cx.forward();
//!         } else {
//!             self.duplicates.add(1);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! // In a plain `cargo test`, without a component and without a server:
//! use tidegate::testing::{Harness, Record};
//!
//! let order = |id: &str, amount: f64| {
//!     Record::json(&format!(r#"{{"customer": {{"id": "ada"}}, "amount": {amount}}}"#)).key(id)
//! };
//! let mut dedup = Harness::<Dedup>::new();
//! let run = dedup.run([order("1", 9.5), order("2", 4.0), order("1", 9.5), order("3", -1.0)]);
//!
//! assert_eq!(run.main().iter().map(|sent| sent.index()).collect::<Vec<_>>(), [0, 1]);
//! assert_eq!(run.bad_records()[0].message(), "order of ada has the amount -1: expected at least 0");
//! assert_eq!(dedup.metric("duplicates"), 1.0);
//! assert_eq!(dedup.state("seen").value::<bool>(b"2"), Some(true));
//! ```
//!
//! # Where to look
//! - [`Keyed`], [`Unkeyed`]: what to implement; [`macro@function`]: what the fields of the struct can be
//! - [`input`]: how records are received; [`output`]: how they are sent, several outputs
//! - [`state`]: what is kept per key; [`Timer`]: calls at a time; [`trait@Config`]: settings from the job file
//! - [`Count`], [`Gauge`], [`info!`]: what operators see; [`Error`], [`bail!`]: bad records
//! - [`testing`]: driving a function in a plain test
//!
//! # Rules of the sandbox
//! An instance may be thrown away between any two batches, so a field that is not state may be lost;
//! such memory is marked `#[scratch]`. A panic, an error or too much work condemns the one record that
//! causes it, not its neighbours; what it wrote and emitted is undone.
#![warn(missing_docs)]

extern crate self as tidegate;

#[doc(hidden)]
pub mod bindings;
mod column;
#[doc(hidden)]
pub mod config;
mod context;
mod error;
#[doc(hidden)]
pub mod fields;
#[doc(hidden)]
pub mod function;
#[doc(hidden)]
pub mod glue;
mod hash;
mod host;
pub mod input;
pub mod output;
pub mod prelude;
#[doc(hidden)]
pub mod schema;
pub mod state;
mod telemetry;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod time;
mod timer;

#[cfg(test)]
mod tests;

pub use config::{Config, ConfigValue};
pub use context::{Context, Header, ReadsHeaders};
pub use error::{Error, Result};
pub use fields::{FieldSet, FieldType, Fields, RawJson};
pub use function::{Assign, Assignment, Function, Keyed, Stateless, Unkeyed};
pub use hash::{FixedState, HashMap, HashSet};
pub use input::{Bytes, Input, Json, KeyOnly, Utf8, ValueInput};
pub use output::{Emitting, Envelope, Forward, Forwarding, Output, OutputKind};
pub use schema::{Schema, SchemaText, schema_text};
pub use state::{
    Aggregate, Aggregating, Counter, EntryKey, List, Map, MapKey, Max, Min, Reduce, Reducing, State, Storable, Stored,
    Sum, Value,
};
pub use telemetry::{Count, Gauge, LogLevel, Metric};
pub use time::Timestamp;
pub use timer::{SetsTimers, Timer, TimerClock};

pub use bindings::types::Task;
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Order<'a> {
///     id: &'a str,
/// }
///
/// #[derive(Inputs)]
/// enum Event<'a> {
///     Orders(Order<'a>),
///     #[input(Utf8, name = "comments")]
///     Comment(&'a str),
/// }
///
/// /// Lets comments through once their order has been seen.
/// #[tidegate::function]
/// struct Comments {
///     #[state]
///     ordered: Value<bool>,
/// }
///
/// impl Keyed for Comments {
///     type In = Event<'static>;
///     type Out = Utf8;
///
///     fn on_record(&mut self, event: Event<'_>, cx: &mut Context<Self>) -> Result {
///         match event {
///             Event::Orders(order) if order.id.is_empty() => bail!("an order without id"),
///             Event::Orders(_) => self.ordered.set(true),
///             Event::Comment(text) if self.ordered.get()?.is_some() => cx.emit(text),
///             Event::Comment(_) => {}
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<Comments>::new().run([
///     Record::text("early").input("comments").key("1"),
///     Record::json(r#"{"id": "1"}"#).input("orders").key("1"),
///     Record::text("thanks").input("comments").key("1"),
/// ]);
/// assert_eq!(run.main().len(), 1);
/// assert_eq!(run.main()[0].text(), "thanks");
/// ```
pub use tidegate_guest_macros::Inputs;
pub use tidegate_guest_macros::{Config, Fields, Schema, function};

#[doc(hidden)]
pub use serde_json;
