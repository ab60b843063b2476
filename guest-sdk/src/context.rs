//! What surrounds the record that is being handled.

use std::marker::PhantomData;

use crate::bindings::types::{Clock, InputBatch, RowKind};
use crate::function::{Function, Keyed, Operator};
use crate::output::{Emitting, Envelope, Forwarding, Outbox};
use crate::timer::{Requests, SetsTimers};
use crate::{Error, LogLevel, Result, Timestamp};

/// The record's surroundings: key, time and headers, and the main output.
///
/// ```
/// use tidegate::prelude::*;
///
/// /// Sends late records to an output of their own, the others on as they are.
/// #[tidegate::function]
/// struct Late {
///     #[output]
///     late: Output<Utf8>,
/// }
///
/// impl Keyed for Late {
///     type In = KeyOnly;
///     type Out = Forward;
///
///     fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
///         match (cx.event_time(), cx.watermark()) {
///             (Some(at), Some(watermark)) if at < watermark => {
///                 let late = watermark.since(at).unwrap_or_default();
///                 self.late.emit(&format!("{} is {}s late", cx.key_text()?, late.as_secs()));
///             }
///             _ => cx.forward(),
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut late = Harness::<Late>::new();
/// late.set_watermark(5_000);
/// let run = late.run([3_000, 7_000].map(|millis| Record::tombstone().key("ada").event_time(millis)));
/// assert_eq!(run.output("late")[0].text(), "ada is 2s late");
/// assert_eq!(run.main().len(), 1);
/// ```
pub struct Context<'a, F: ?Sized> {
    batch: &'a InputBatch,
    main: &'a mut Outbox,
    timers: &'a mut Requests,
    row: usize,
    function: PhantomData<fn(&F)>,
}

impl<'a, F: Function> Context<'a, F> {
    pub(crate) fn new(batch: &'a InputBatch, main: &'a mut Outbox, timers: &'a mut Requests) -> Self {
        Self { batch, main, timers, row: 0, function: PhantomData }
    }

    /// Moves on to `row`.
    #[inline]
    pub(crate) fn select(&mut self, row: u32) {
        self.row = row as usize;
        self.main.select(row);
    }

    /// Sends the current record on as it is, to the main output. It is not copied. A timer has none: a call in
    /// `on_timer` is an error of the function.
    #[inline]
    pub fn forward<K>(&mut self)
    where
        F: Operator<K, Out: Forwarding>,
    {
        self.main.forward();
    }

    /// Sends a new record to the main output, with the key, event time and headers of the current
    /// one. A record that cannot be encoded makes the current one a bad record.
    #[inline]
    pub fn emit<K>(&mut self, record: &<<F as Operator<K>>::Out as Emitting>::Record<'_>)
    where
        F: Operator<K, Out: Emitting>,
    {
        self.main.emit::<<F as Operator<K>>::Out>(Envelope::new(), record);
    }

    /// Sends a new record to the main output with what the [`Envelope`] says, which has an example.
    #[inline]
    pub fn emit_in<K>(&mut self, envelope: Envelope<'_>, record: &<<F as Operator<K>>::Out as Emitting>::Record<'_>)
    where
        F: Operator<K, Out: Emitting>,
    {
        self.main.emit::<<F as Operator<K>>::Out>(envelope, record);
    }

    /// Sends a record without a value (a tombstone: it deletes its key downstream) to the main output.
    pub fn emit_tombstone<K>(&mut self, envelope: Envelope<'_>)
    where
        F: Operator<K, Out: Emitting>,
    {
        self.main.tombstone(envelope);
    }

    /// The key of the current record.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &'a [u8]
    where
        F: Keyed,
    {
        self.batch.keys.get(self.slot() as usize)
    }

    /// The key of the current record as text.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn key_text(&self) -> Result<&'a str>
    where
        F: Keyed,
    {
        std::str::from_utf8(self.key())
            .map_err(|error| Error::new(format!("the key is not UTF-8: byte {} is wrong", error.valid_up_to())))
    }

    /// When it happened; `None` where the record has no event time. For a timer the time it was set for, and for one
    /// of processing time the watermark.
    #[inline]
    #[must_use]
    pub fn event_time(&self) -> Option<Timestamp> {
        match self.batch.kinds.get(self.row) {
            Some(RowKind::ProcessingTimer) => self.watermark(),
            _ => self.batch.timestamps.get(self.row).copied().and_then(Timestamp::known),
        }
    }

    /// Asks that [`Keyed::on_timer`] be called for the current key when the watermark comes to `at`: when no record
    /// before that time is expected any more, or the input has ended. Setting the same timer again changes nothing.
    /// A time that has come already fires right after the records at hand.
    #[inline]
    pub fn set_timer(&mut self, at: Timestamp)
    where
        F: SetsTimers,
    {
        self.timers.note(Clock::EventTime, self.slot(), at, true);
    }

    /// Takes a timer of the current key back; nothing happens where there is none.
    #[inline]
    pub fn cancel_timer(&mut self, at: Timestamp)
    where
        F: SetsTimers,
    {
        self.timers.note(Clock::EventTime, self.slot(), at, false);
    }

    /// Asks that [`Keyed::on_timer`] be called for the current key when the host's clock ([`Context::now`]) comes to
    /// `at`. Otherwise as [`Context::set_timer`]. While the job is down its clock goes on: what came due meanwhile
    /// fires when it starts again. The end of the input fires none of them: they stay set.
    #[inline]
    pub fn set_processing_timer(&mut self, at: Timestamp)
    where
        F: SetsTimers,
    {
        self.timers.note(Clock::ProcessingTime, self.slot(), at, true);
    }

    /// Takes a timer of the host's clock back, as [`Context::cancel_timer`].
    #[inline]
    pub fn cancel_processing_timer(&mut self, at: Timestamp)
    where
        F: SetsTimers,
    {
        self.timers.note(Clock::ProcessingTime, self.slot(), at, false);
    }

    #[inline]
    fn slot(&self) -> u32 {
        *self.batch.slots.get(self.row).expect("the host gives every row of a keyed batch a slot")
    }

    /// No record with an earlier event time is expected; `None` as long as nothing is known. When the input has
    /// ended, [`Timestamp::END`].
    #[inline]
    #[must_use]
    pub fn watermark(&self) -> Option<Timestamp> {
        Timestamp::known(self.batch.watermark)
    }

    /// The host's clock. It never falls, also over restarts.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.batch.now)
    }

    /// The headers of the current record, in order; a header may lack a value. For functions with
    /// `#[tidegate::function(headers)]`: others are not given headers.
    ///
    /// ```
    /// use tidegate::prelude::*;
    ///
    /// #[tidegate::function(headers)]
    /// struct Traced;
    ///
    /// impl Unkeyed for Traced {
    ///     type In = Bytes;
    ///     type Out = Forward;
    ///
    ///     fn on_record(&mut self, _: &[u8], cx: &mut Context<Self>) -> Result {
    ///         if cx.headers().any(|header| header.name == b"trace") {
    ///             cx.forward();
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # use tidegate::testing::{Harness, Record};
    /// let run = Harness::<Traced>::new().run([
    ///     Record::text("a").header("trace", "on"),
    ///     Record::text("b"),
    /// ]);
    /// assert_eq!(run.main().len(), 1);
    /// ```
    pub fn headers(&self) -> impl Iterator<Item = Header<'a>> + use<'a, F>
    where
        F: ReadsHeaders,
    {
        let batch = self.batch;
        let row = u32::try_from(self.row).expect("a batch has fewer than 2^32 rows");
        batch.headers.iter().flat_map(move |headers| {
            let first = headers.owners.partition_point(|&owner| owner < row);
            let end = headers.owners.partition_point(|&owner| owner <= row);
            (first..end).map(|index| Header { name: headers.names.get(index), value: headers.values.get(index) })
        })
    }

    /// Writes a line to the operator's log, about the current record. Prefer [`crate::info!`] and its
    /// siblings.
    pub fn log(&self, level: LogLevel, message: &str) {
        let row = u32::try_from(self.row).expect("a batch has fewer than 2^32 rows");
        crate::host::log(level.wire(), Some(row), message);
    }
}

/// A header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its name; names may repeat.
    pub name: &'a [u8],
    /// Its value, which may be missing.
    pub value: Option<&'a [u8]>,
}

/// A function that is given headers; implemented by `#[tidegate::function(headers)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not given headers",
    note = "write `#[tidegate::function(headers)]`"
)]
pub trait ReadsHeaders {}
