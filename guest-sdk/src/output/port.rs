//! Further outputs of a function.

use std::marker::PhantomData;

use crate::bindings::types::PortDescriptor;
use crate::error::Flaw;
use crate::function::{Part, Row};
use crate::output::{Emitting, Envelope, Forwarding, Outbox, OutputKind};

/// A further output of a function, named like the field that holds it: what is sent to `late` of the
/// operator `dedup` is what a job file calls `dedup.late`.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Delay {
///     minutes: i64,
/// }
///
/// #[tidegate::function]
/// struct Triage {
///     #[output]
///     alerts: Output<Fields<Delay>>,
///     #[output(name = "negative")]
///     early: Output<Forward>,
/// }
///
/// impl Unkeyed for Triage {
///     type In = Fields<Delay>;
///     type Out = Forward;
///
///     fn on_record(&mut self, delay: Delay, cx: &mut Context<Self>) -> Result {
///         cx.forward();
///         if delay.minutes > 60 {
///             self.alerts.emit(&delay);
///         } else if delay.minutes < 0 {
///             self.early.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let records = [-5, 90].map(|minutes| Record::json(&format!(r#"{{"minutes": {minutes}}}"#)));
/// let run = Harness::<Triage>::new().run(records);
/// assert_eq!(run.main().len(), 2);
/// assert_eq!(run.output("alerts")[0].field::<i64>("minutes"), 90);
/// assert!(run.output("negative")[0].is_forwarded());
/// ```
pub struct Output<O> {
    outbox: Outbox,
    kind: PhantomData<fn() -> O>,
}

/// A field of a function that is an output.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an output",
    label = "`#[output]` needs an Output",
    note = "write `Output<Forward>`, `Output<Fields<T>>`, `Output<Json<T>>`, `Output<Utf8>` or `Output<Bytes>`"
)]
pub trait Port: Part {
    /// Adds what the descriptor says of it, under the next number.
    fn describe(name: &str, into: &mut Vec<PortDescriptor>);
    /// The output under its number.
    fn create(id: u16) -> Self;
}

impl<O: OutputKind> Port for Output<O> {
    fn describe(name: &str, into: &mut Vec<PortDescriptor>) {
        let id = u16::try_from(into.len()).expect("a function has far fewer than 65536 outputs");
        let port = O::port(name).unwrap_or_else(|| panic!("the output `{name}` sends nothing: it is `Output<()>`"));
        into.push(PortDescriptor { id, ..port });
    }
    fn create(id: u16) -> Self {
        Self { outbox: Outbox::new(id, O::columns()), kind: PhantomData }
    }
}

impl<O: OutputKind> Output<O> {
    /// Sends the current record on as it is. See [`Context::forward`](crate::Context::forward).
    #[inline]
    pub fn forward(&mut self)
    where
        O: Forwarding,
    {
        self.outbox.forward();
    }

    /// Sends a new record. See [`Context::emit`](crate::Context::emit).
    pub fn emit(&mut self, record: &O::Record<'_>)
    where
        O: Emitting,
    {
        self.outbox.emit::<O>(Envelope::new(), record);
    }

    /// Sends a new record with its own key, event time or headers. See
    /// [`Context::emit_in`](crate::Context::emit_in).
    pub fn emit_in(&mut self, envelope: Envelope<'_>, record: &O::Record<'_>)
    where
        O: Emitting,
    {
        self.outbox.emit::<O>(envelope, record);
    }

    /// Sends a record without a value. See [`Context::emit_tombstone`](crate::Context::emit_tombstone).
    pub fn emit_tombstone(&mut self, envelope: Envelope<'_>)
    where
        O: Emitting,
    {
        self.outbox.tombstone(envelope);
    }
}

impl<O: OutputKind> Part for Output<O> {
    fn begin_batch(&mut self, _: usize) {
        self.outbox.reset();
    }
    #[inline]
    fn select(&mut self, at: Row) {
        self.outbox.select(at.number);
    }
    fn finish_batch(&mut self) -> Result<(), Flaw> {
        self.outbox.finish()
    }
}
