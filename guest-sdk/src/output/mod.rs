//! What a function sends: `type Out`, and further outputs as fields of the function.
//!
//! | output | sends |
//! |---|---|
//! | [`Forward`] | the record itself, never copied out of the host: `cx.forward()` |
//! | [`Fields<T>`](struct@crate::Fields) | typed fields; the host encodes them: `cx.emit(&record)` |
//! | [`Json<T>`](Json) | a type of serde, written as JSON |
//! | [`Utf8`] | text |
//! | [`Bytes`] | bytes; forwards too |
//! | `()` | nothing: the function has no main output |

mod envelope;
mod outbox;
mod port;

use serde::Serialize;

use crate::bindings::types::{FieldColumn, PortDescriptor};
use crate::fields::{FieldSet, Fields};
use crate::input::port as bare_port;
use crate::schema::{Schema, schema_text};
use crate::{Bytes, Json, Result, Utf8};

pub use envelope::{Envelope, HeaderPair};
pub(crate) use outbox::Outbox;
pub use port::{Output, Port};

/// A kind of output; see the [module](self).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an output",
    note = "an output is one of Forward, Fields<T>, Json<T>, Utf8, Bytes; `type Out = ()` stands for none"
)]
pub trait OutputKind {
    /// The port; `None` for no output.
    #[doc(hidden)]
    fn port(name: &str) -> Option<PortDescriptor>;
    /// Empty columns for its fields.
    #[doc(hidden)]
    fn columns() -> Vec<FieldColumn> {
        Vec::new()
    }
}

/// An output that takes records made by the function.
#[diagnostic::on_unimplemented(
    message = "an output of `{Self}` takes no new records",
    note = "to send records you make, declare it as Fields<T>, Json<T>, Utf8 or Bytes; `forward` sends the input record itself"
)]
pub trait Emitting: OutputKind {
    /// What `emit` takes.
    type Record<'r>: ?Sized;

    /// Appends a record to `values` or `columns`; returns about how many bytes it takes.
    #[doc(hidden)]
    fn append(record: &Self::Record<'_>, values: &mut Vec<u8>, columns: &mut [FieldColumn]) -> Result<usize>;
    /// Whether `append` fills `columns` and not `values`.
    #[doc(hidden)]
    const TYPED: bool = false;
}

/// An output that takes input records as they are.
#[diagnostic::on_unimplemented(
    message = "an output of `{Self}` cannot forward records as they are",
    note = "declare it as Forward, or as Bytes to forward some records and make others"
)]
pub trait Forwarding: OutputKind {}

/// Sends input records on unchanged: key, value, time and headers. They never leave the host.
///
/// See [`KeyOnly`](crate::KeyOnly) for an example.
pub struct Forward;

impl OutputKind for () {
    fn port(_: &str) -> Option<PortDescriptor> {
        None
    }
}

impl OutputKind for Forward {
    fn port(name: &str) -> Option<PortDescriptor> {
        Some(bare_port(name, None))
    }
}
impl Forwarding for Forward {}

impl OutputKind for Bytes {
    fn port(name: &str) -> Option<PortDescriptor> {
        Some(bare_port(name, None))
    }
}
impl Forwarding for Bytes {}
impl Emitting for Bytes {
    type Record<'r> = [u8];

    fn append(record: &[u8], values: &mut Vec<u8>, _: &mut [FieldColumn]) -> Result<usize> {
        values.extend_from_slice(record);
        Ok(record.len())
    }
}

/// The records are the text itself: a schema would say that they are JSON strings.
impl OutputKind for Utf8 {
    fn port(name: &str) -> Option<PortDescriptor> {
        Some(bare_port(name, None))
    }
}
impl Emitting for Utf8 {
    type Record<'r> = str;

    fn append(record: &str, values: &mut Vec<u8>, _: &mut [FieldColumn]) -> Result<usize> {
        values.extend_from_slice(record.as_bytes());
        Ok(record.len())
    }
}

impl<T: Schema> OutputKind for Json<T> {
    fn port(name: &str) -> Option<PortDescriptor> {
        Some(bare_port(name, Some(schema_text::<T>())))
    }
}
impl<T: Serialize + Schema> Emitting for Json<T> {
    type Record<'r> = T;

    fn append(record: &T, values: &mut Vec<u8>, _: &mut [FieldColumn]) -> Result<usize> {
        let before = values.len();
        serde_json::to_writer(&mut *values, record)?;
        Ok(values.len() - before)
    }
}

impl<T: FieldSet> OutputKind for Fields<T> {
    fn port(name: &str) -> Option<PortDescriptor> {
        Some(PortDescriptor { fields: T::specs(), ..bare_port(name, None) })
    }
    fn columns() -> Vec<FieldColumn> {
        T::specs().into_iter().map(|field| FieldColumn::for_kind(field.kind)).collect()
    }
}
impl<T: FieldSet> Emitting for Fields<T> {
    type Record<'r> = T::At<'r>;
    const TYPED: bool = true;

    #[inline]
    fn append(record: &T::At<'_>, _: &mut Vec<u8>, columns: &mut [FieldColumn]) -> Result<usize> {
        Ok(T::append(record, columns))
    }
}
