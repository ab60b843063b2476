//! What makes a struct a function.

use crate::bindings::types::{Descriptor, StateDescriptor, Ttl};
pub use crate::error::Flaw;
use crate::{Context, Error, Input, OutputKind, Result, Task, Timer, Timestamp, ValueInput};

/// A function over records that are partitioned by key, with state per key.
///
/// Records of one key arrive in order, in one place.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Reading {
///     celsius: f64,
/// }
///
/// /// Lets a reading through when it differs from the last of its sensor, which is the key.
/// #[tidegate::function]
/// struct Changes {
///     #[state]
///     last: Value<f64>,
/// }
///
/// impl Keyed for Changes {
///     type In = Fields<Reading>;
///     type Out = Forward;
///
///     fn on_record(&mut self, reading: Reading, cx: &mut Context<Self>) -> Result {
///         if self.last.get()? != Some(&reading.celsius) {
///             self.last.set(reading.celsius);
///             cx.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let readings = [20.0, 20.0, 21.0].map(|celsius| Record::fields::<Reading>(&Reading { celsius }).key("roof"));
/// assert_eq!(Harness::<Changes>::new().run(readings).main().len(), 2);
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` is not a keyed function", note = "write `impl Keyed for {Self}`")]
pub trait Keyed: Function {
    /// How records are received; see [`input`](crate::input).
    type In: Input;
    /// The main output; see [`output`](crate::output).
    type Out: OutputKind;

    /// Prepares an instance; an error refuses the job with that text. Called when an instance is made,
    /// and when a job is submitted, after `#[config]` has been read.
    ///
    /// ```
    /// # use tidegate::prelude::*;
    /// # #[derive(Config)]
    /// # struct Settings { from: u32, to: u32 }
    /// # #[tidegate::function]
    /// # struct Ranged { #[config] settings: Settings }
    /// # impl Keyed for Ranged {
    /// #     type In = KeyOnly;
    /// #     type Out = Forward;
    /// #     fn on_record(&mut self, _: (), _: &mut Context<Self>) -> Result { Ok(()) }
    /// fn open(&mut self, _: &Task) -> Result {
    ///     if self.settings.from > self.settings.to {
    ///         bail!("`from` is {}, above `to`, which is {}", self.settings.from, self.settings.to);
    ///     }
    ///     Ok(())
    /// }
    /// # }
    /// # use tidegate::testing::Harness;
    /// # let error = Harness::<Ranged>::new().config(r#"{"from": 2, "to": 1}"#).open().unwrap_err();
    /// # assert_eq!(error.to_string(), "`from` is 2, above `to`, which is 1");
    /// ```
    ///
    /// # Errors
    /// When the configuration makes no sense.
    fn open(&mut self, task: &Task) -> Result<()> {
        let _ = task;
        Ok(())
    }

    /// Handles one record.
    ///
    /// # Errors
    /// The record becomes a bad record: what it wrote and emitted is undone, and it meets the job's
    /// `on_error` with the text of the error.
    fn on_record<'a>(&mut self, record: <Self::In as Input>::Record<'a>, cx: &mut Context<'a, Self>) -> Result<()>;

    /// Handles a timer that fired: one that [`Context::set_timer`] or [`Context::set_processing_timer`] asked for, for
    /// the key it was asked for. State is read and written, and records are sent, as for a record. See [`Timer`], which
    /// has an example.
    ///
    /// # Errors
    /// What the call wrote and sent is undone, the timer is gone, and it meets the job's `on_error` with the text of
    /// the error.
    fn on_timer<'a>(&mut self, timer: Timer, cx: &mut Context<'a, Self>) -> Result<()> {
        let _ = (timer, cx);
        Err(Error::new("a timer fired, and the function does not say what then: it lacks `fn on_timer`"))
    }
}

/// A function over records as they come, without key and without state.
///
/// ```
/// use tidegate::prelude::*;
///
/// /// Drops empty lines.
/// #[tidegate::function]
/// struct NotEmpty;
///
/// impl Unkeyed for NotEmpty {
///     type In = Bytes;
///     type Out = Forward;
///
///     fn on_record(&mut self, value: &[u8], cx: &mut Context<Self>) -> Result {
///         if !value.is_empty() {
///             cx.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<NotEmpty>::new().run([Record::text("a"), Record::text("")]);
/// assert_eq!(run.main().len(), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an unkeyed function",
    note = "write `impl Unkeyed for {Self}`"
)]
pub trait Unkeyed: Function + Stateless {
    /// How records are received; see [`input`](crate::input).
    type In: Input;
    /// The main output; see [`output`](crate::output).
    type Out: OutputKind;

    /// Prepares an instance. See [`Keyed::open`].
    ///
    /// # Errors
    /// When the configuration makes no sense.
    fn open(&mut self, task: &Task) -> Result<()> {
        let _ = task;
        Ok(())
    }

    /// Handles one record. See [`Keyed::on_record`].
    ///
    /// # Errors
    /// The record becomes a bad record.
    fn on_record<'a>(&mut self, record: <Self::In as Input>::Record<'a>, cx: &mut Context<'a, Self>) -> Result<()>;
}

/// A function that gives key and event time of its records itself, for values that the host cannot
/// cut them out of. Say so with `#[tidegate::function(assign)]`.
///
/// ```
/// use tidegate::prelude::*;
///
/// /// Counts words of lines such as `1700000000000 ada hello`, by the second column.
/// #[tidegate::function(assign)]
/// struct Lines {
///     #[state]
///     lines: Counter,
/// }
///
/// impl Assign for Lines {
///     type From = Utf8;
///
///     fn assign(&self, line: &str, to: &mut Assignment<'_>) -> Result {
///         let mut columns = line.split(' ');
///         let millis = columns.next().unwrap_or_default().parse()?;
///         to.event_time(Timestamp::from_millis(millis));
///         if let Some(name) = columns.next() {
///             to.key(name.as_bytes());
///         }
///         Ok(())
///     }
/// }
///
/// impl Keyed for Lines {
///     type In = KeyOnly;
///     type Out = ();
///
///     fn on_record(&mut self, _: (), _: &mut Context<Self>) -> Result {
///         self.lines.add(1)?;
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut lines = Harness::<Lines>::new();
/// lines.run([Record::text("1700000000000 ada hello"), Record::text("1700000000001 ada world")]);
/// assert_eq!(lines.state("lines").value::<i64>(b"ada"), Some(2));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to assign key and event time",
    note = "`#[tidegate::function(assign)]` needs `impl Assign for {Self}`"
)]
pub trait Assign: Function {
    /// How values are read here: Bytes, Utf8 or `Json<T>`.
    type From: ValueInput;

    /// Reads key and event time of one value. A key not given is a null key.
    ///
    /// # Errors
    /// The record becomes a bad record.
    fn assign(&self, value: <Self::From as ValueInput>::Record<'_>, to: &mut Assignment<'_>) -> Result<()>;
}

/// Takes key and event time of one value; see [`Assign`].
pub struct Assignment<'a> {
    pub(crate) key: &'a mut Vec<u8>,
    pub(crate) has_key: bool,
    pub(crate) event_time: Option<Timestamp>,
}

impl Assignment<'_> {
    /// Gives the key.
    pub fn key(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.has_key = true;
    }

    /// Gives the event time.
    pub fn event_time(&mut self, at: Timestamp) {
        self.event_time = Some(at);
    }
}

/// What `#[tidegate::function]` makes of a struct.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function",
    label = "the struct lacks `#[tidegate::function]`",
    note = "write `#[tidegate::function]` above `struct {Self}`"
)]
pub trait Function: Sized {
    /// Whether headers must cross.
    #[doc(hidden)]
    const WANTS_HEADERS: bool;
    /// Whether the function assigns key and event time.
    #[doc(hidden)]
    const ASSIGNS: bool;
    /// Whether the function sets timers.
    #[doc(hidden)]
    const TIMERS: bool;

    /// Adds outputs, states and metrics; outputs are numbered on from those there.
    #[doc(hidden)]
    fn describe(descriptor: &mut Descriptor);
    /// An instance, from the JSON object in the job file.
    #[doc(hidden)]
    fn create(config: &str, first_output: u16) -> Result<Self>;
    /// Forgets the last batch.
    #[doc(hidden)]
    fn begin_batch(&mut self, slots: usize);
    /// Says which row and key come now.
    #[doc(hidden)]
    fn select(&mut self, at: Row);
    /// Hands over what the batch wrote.
    #[doc(hidden)]
    fn finish_batch(&mut self) -> Result<(), Flaw>;
    /// Key and event time of a value.
    #[doc(hidden)]
    fn assign(&self, value: Option<&[u8]>, to: &mut Assignment<'_>) -> Result<()>;
    /// A stored value of another version, rewritten.
    #[doc(hidden)]
    fn migrate(state: u16, from_version: u32, value: &[u8], into: &mut Vec<u8>) -> Result<()>;
}

/// A function without state and timers; implemented by `#[tidegate::function]` where no field is `#[state]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has state or timers, which belong to a key",
    label = "a function with `#[state]` fields or timers cannot be Unkeyed",
    note = "write `impl Keyed for {Self}`, or keep nothing"
)]
pub trait Stateless {}

/// [`Keyed`] and [`Unkeyed`] as one. The parameter only tells the two implementations apart.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither Keyed nor Unkeyed",
    label = "no `impl Keyed` and no `impl Unkeyed` for this function",
    note = "write `impl Keyed for {Self}` where records are partitioned by key, else `impl Unkeyed for {Self}`"
)]
pub trait Operator<K>: Function {
    const KEYED: bool;
    type In: Input;
    type Out: OutputKind;

    fn open(&mut self, task: &Task) -> Result<()>;
    fn on_record<'a>(&mut self, record: <Self::In as Input>::Record<'a>, cx: &mut Context<'a, Self>) -> Result<()>;
    fn on_timer<'a>(&mut self, timer: Timer, cx: &mut Context<'a, Self>) -> Result<()>;
}

#[doc(hidden)]
pub enum WithKey {}
#[doc(hidden)]
pub enum WithoutKey {}

impl<F: Keyed> Operator<WithKey> for F {
    const KEYED: bool = true;
    type In = F::In;
    type Out = F::Out;

    fn open(&mut self, task: &Task) -> Result<()> {
        Keyed::open(self, task)
    }
    #[inline]
    fn on_record<'a>(&mut self, record: <F::In as Input>::Record<'a>, cx: &mut Context<'a, F>) -> Result<()> {
        Keyed::on_record(self, record, cx)
    }
    fn on_timer<'a>(&mut self, timer: Timer, cx: &mut Context<'a, F>) -> Result<()> {
        Keyed::on_timer(self, timer, cx)
    }
}

impl<F: Unkeyed> Operator<WithoutKey> for F {
    const KEYED: bool = false;
    type In = F::In;
    type Out = F::Out;

    fn open(&mut self, task: &Task) -> Result<()> {
        Unkeyed::open(self, task)
    }
    #[inline]
    fn on_record<'a>(&mut self, record: <F::In as Input>::Record<'a>, cx: &mut Context<'a, F>) -> Result<()> {
        Unkeyed::on_record(self, record, cx)
    }
    fn on_timer<'a>(&mut self, _: Timer, _: &mut Context<'a, F>) -> Result<()> {
        Err(Error::new("a timer fired in a function without key"))
    }
}

/// The record that comes now.
#[doc(hidden)]
#[derive(Clone, Copy, Default)]
pub struct Row {
    /// Its number in the batch.
    pub number: u32,
    /// The slot of its key.
    pub slot: u32,
    /// Its event time, milliseconds; the smallest where it has none.
    pub time: i64,
}

/// A field of a function that takes part in every batch: a state, an output, a metric.
#[doc(hidden)]
#[diagnostic::on_unimplemented(message = "`{Self}` is neither a state, nor an output, nor a metric")]
pub trait Part {
    /// Forgets the last batch, also one that failed half way.
    fn begin_batch(&mut self, slots: usize);
    /// Says which row and key come now.
    fn select(&mut self, at: Row);
    /// Hands over what the batch left here.
    fn finish_batch(&mut self) -> Result<(), Flaw>;
}

/// What a state is declared as.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Declared {
    pub id: u16,
    pub name: &'static str,
    pub version: u32,
    pub ttl: Option<Ttl>,
}

impl Declared {
    pub(crate) fn descriptor(&self, kind: crate::bindings::types::StateKind, schema: String) -> StateDescriptor {
        StateDescriptor { id: self.id, name: self.name.to_owned(), kind, schema, version: self.version, ttl: self.ttl }
    }

    #[cold]
    pub(crate) fn unreadable(&self, error: &Error) -> Error {
        Error::new(format!("read state `{}`: {error}", self.name))
    }

    #[cold]
    pub(crate) fn unwritable(&self, error: &Error) -> Error {
        Error::new(format!("write state `{}`: {error}", self.name))
    }
}
