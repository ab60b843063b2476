//! Driving a function in a plain `cargo test`: no component, no server.
//!
//! A [`Harness`] does what the engine does: it cuts fields out of JSON, forms batches, keeps the state,
//! undoes what a failing record wrote, and finds the record to blame. So a test sees what a job would
//! show: what was sent, in order; bad records with their text; metrics, log lines, and the state.
//!
//! ```
//! use tidegate::prelude::*;
//! use tidegate::testing::{Harness, Record};
//!
//! #[derive(Fields)]
//! struct Word<'a> {
//!     word: &'a str,
//! }
//!
//! #[derive(Fields, Debug, PartialEq)]
//! struct WordCount<'a> {
//!     word: &'a str,
//!     count: i64,
//! }
//!
//! #[tidegate::function]
//! struct Words {
//!     #[state]
//!     count: Counter,
//! }
//!
//! impl Keyed for Words {
//!     type In = Fields<Word<'static>>;
//!     type Out = Fields<WordCount<'static>>;
//!
//!     fn on_record(&mut self, Word { word }: Word<'_>, cx: &mut Context<Self>) -> Result {
//!         if word.is_empty() {
//!             bail!("an empty word");
//!         }
//!         let count = self.count.add(1)?;
//!         cx.emit(&WordCount { word, count });
//!         Ok(())
//!     }
//! }
//!
//! let words = ["sea", "tide", "", "sea"].map(|word| Record::json(&format!(r#"{{"word": "{word}"}}"#)));
//! let mut harness = Harness::<Words>::new().key_at("/word");
//! // In batches of 1, 7 and 512, with and without new instances in between: always the same.
//! let run = harness.run_every_way(words);
//!
//! assert_eq!(run.main()[2].fields::<WordCount>(), WordCount { word: "sea", count: 2 });
//! assert_eq!(run.bad_records()[0].index(), 2);
//! assert_eq!(run.bad_records()[0].message(), "an empty word");
//! assert_eq!(harness.state("count").value::<i64>(b"sea"), Some(2));
//! ```
//!
//! Entries expire as they do in a job: by the event times of the records ([`Record::event_time`]), or by
//! the clock that [`Harness::set_now`] sets. What has expired stays in the state that a test looks at until
//! it is written over; records do not see it.
//!
//! Timers fire when [`Harness::advance_watermark`], [`Harness::advance_clock`] or [`Harness::end_input`] lets their
//! time come; [`Harness::timers`] tells which are pending. [`Timer`](crate::Timer) has an example.
//!
//! # Absent on purpose
//! No purging of what has expired. No formats but JSON, and fields given as they are.

mod batch;
mod cut;
mod emitted;
mod engine;
mod harness;
mod host;
mod lives;
mod panics;
mod record;
mod run;
mod store;
mod timers;

pub use emitted::Emitted;
pub use harness::Harness;
pub use record::Record;
pub use run::{BadRecord, LogLine, Run};
pub use store::StateView;
