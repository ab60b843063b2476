//! What goes around a value.

use crate::Timestamp;

/// A header to send: its name, and its value where it has one. See [`Envelope`].
pub type HeaderPair<'a> = (&'a str, Option<&'a [u8]>);

/// Key, event time and headers of a record to send, where they are not those of the record that
/// caused it.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Flight<'a> {
///     origin: &'a str,
///     delay: i64,
/// }
///
/// /// Keys flights by their origin.
/// #[tidegate::function]
/// struct ByOrigin;
///
/// impl Unkeyed for ByOrigin {
///     type In = Fields<Flight<'static>>;
///     type Out = Fields<Flight<'static>>;
///
///     fn on_record(&mut self, flight: Flight<'_>, cx: &mut Context<Self>) -> Result {
///         let around = Envelope::new()
///             .key(flight.origin.as_bytes())
///             .event_time(Timestamp::from_millis(flight.delay))
///             .headers(&[("version", Some(b"1"))]);
///         cx.emit_in(around, &flight);
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<ByOrigin>::new().run([Record::json(r#"{"origin": "OSL", "delay": 7}"#)]);
/// assert_eq!(run.main()[0].key(), Some(b"OSL".as_slice()));
/// assert_eq!(run.main()[0].event_time(), Some(Timestamp::from_millis(7)));
/// assert_eq!(run.main()[0].headers(), [("version".to_owned(), Some(b"1".to_vec()))]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Envelope<'a> {
    pub(crate) key: Option<Option<&'a [u8]>>,
    pub(crate) event_time: Option<Timestamp>,
    pub(crate) headers: Option<&'a [HeaderPair<'a>]>,
}

impl<'a> Envelope<'a> {
    /// Everything as in the record that causes the output.
    #[must_use]
    pub const fn new() -> Self {
        Self { key: None, event_time: None, headers: None }
    }

    /// With another key.
    #[must_use]
    pub const fn key(mut self, key: &'a [u8]) -> Self {
        self.key = Some(Some(key));
        self
    }

    /// Without a key.
    #[must_use]
    pub const fn no_key(mut self) -> Self {
        self.key = Some(None);
        self
    }

    /// With another event time.
    #[must_use]
    pub const fn event_time(mut self, at: Timestamp) -> Self {
        self.event_time = Some(at);
        self
    }

    /// With these headers instead. A header with `None` has no value, which is not an empty one.
    #[must_use]
    pub const fn headers(mut self, headers: &'a [HeaderPair<'a>]) -> Self {
        self.headers = Some(headers);
        self
    }
}
