//! A record to be handled.

use crate::bindings::types::FieldColumn;
use crate::{Emitting, FieldSet, Fields, Timestamp};

/// A record for a [`Harness`](super::Harness).
///
/// ```
/// use tidegate::testing::Record;
///
/// let record = Record::json(r#"{"id": 1}"#).key("1").event_time(1_700_000_000_000).header("trace", "on");
/// ```
#[derive(Clone)]
pub struct Record {
    pub(super) value: Option<Vec<u8>>,
    pub(super) fields: Option<Vec<FieldColumn>>,
    pub(super) key: Option<Vec<u8>>,
    pub(super) event_time: Option<Timestamp>,
    pub(super) headers: Vec<(String, Option<Vec<u8>>)>,
    pub(super) input: Option<String>,
}

impl Record {
    fn with_value(value: Option<Vec<u8>>) -> Self {
        Self { value, fields: None, key: None, event_time: None, headers: Vec::new(), input: None }
    }

    /// A record whose value is JSON; fields are cut out of it.
    #[must_use]
    pub fn json(text: &str) -> Self {
        Self::text(text)
    }

    /// A record whose value is text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::bytes(text.as_bytes())
    }

    /// A record whose value is bytes.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        Self::with_value(Some(bytes.to_vec()))
    }

    /// A record without a value.
    #[must_use]
    pub fn tombstone() -> Self {
        Self::with_value(None)
    }

    /// A record given by its fields, for a function with `type In = Fields<T>`. It has no value.
    ///
    /// ```
    /// use tidegate::prelude::*;
    /// use tidegate::testing::Record;
    ///
    /// #[derive(Fields)]
    /// struct Word<'a> {
    ///     word: &'a str,
    /// }
    ///
    /// let record = Record::fields::<Word>(&Word { word: "sea" }).key("sea");
    /// ```
    #[must_use]
    pub fn fields<T: FieldSet>(fields: &T::At<'_>) -> Self {
        let mut columns: Vec<_> = T::specs().iter().map(|field| FieldColumn::for_kind(field.kind)).collect();
        <Fields<T> as Emitting>::append(fields, &mut Vec::new(), &mut columns).expect("appending fields cannot fail");
        Self { fields: Some(columns), ..Self::with_value(None) }
    }

    /// With this key.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.key = Some(key.as_ref().to_vec());
        self
    }

    /// With this event time, in milliseconds since 1970.
    #[must_use]
    pub fn event_time(mut self, millis: i64) -> Self {
        self.event_time = Some(Timestamp::from_millis(millis));
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), Some(value.as_ref().to_vec())));
        self
    }

    /// On this input, for a function with several.
    #[must_use]
    pub fn input(mut self, name: &str) -> Self {
        self.input = Some(name.to_owned());
        self
    }
}
