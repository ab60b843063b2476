//! How a function wants its records: `type In`.
//!
//! | `type In` | `on_record` gets | crosses into the sandbox |
//! |---|---|---|
//! | [`Fields<T>`](struct@crate::Fields) | `T`, text borrowed | the columns of those fields |
//! | [`Json<T>`] | `T`, read by serde | the value |
//! | [`Utf8`] | `&str` | the value |
//! | [`Bytes`] | `&[u8]` | the value |
//! | [`KeyOnly`] | `()` | nothing but the key |
//! | `Option<Json<T>>`, `Option<Utf8>`, `Option<Bytes>` | `Option` of the above | the value; `None` is a tombstone |
//! | an enum with `#[derive(Inputs)]` | the enum | what the input of each variant needs |

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::bindings::types::{InputBatch, PortDescriptor};
use crate::fields::{FieldSet, Fields};
use crate::schema::{Schema, schema_text};
use crate::{Error, Result};

/// The name of the input of a function that has one.
pub(crate) const MAIN: &str = "main";

/// A way to receive records; see the [module](self).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an input",
    note = "`type In` is one of Fields<T>, Json<T>, Utf8, Bytes, KeyOnly, or an enum with `#[derive(Inputs)]`"
)]
pub trait Input {
    /// What `on_record` gets.
    type Record<'a>;
    /// The batch, opened.
    #[doc(hidden)]
    type Reader<'a>;
    /// Whether whole values must cross.
    #[doc(hidden)]
    const WANTS_VALUES: bool;

    /// The inputs, numbered from 0.
    #[doc(hidden)]
    fn ports() -> Vec<PortDescriptor>;
    /// Opens a batch.
    #[doc(hidden)]
    fn open(batch: &InputBatch) -> Result<Self::Reader<'_>>;
    /// The record in `row`.
    #[doc(hidden)]
    fn read<'a>(reader: &Self::Reader<'a>, row: usize) -> Result<Self::Record<'a>>;
}

/// An input that reads the value of a record itself: [`Bytes`], [`Utf8`], [`Json`], or `Option` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not read whole values",
    note = "use Bytes, Utf8 or Json<T>, or Option of one of them to see tombstones"
)]
pub trait ValueInput {
    /// What is made of the value.
    type Record<'a>;

    /// Reads a value; absent is a tombstone.
    #[doc(hidden)]
    fn parse(value: Option<&[u8]>) -> Result<Self::Record<'_>>;
    /// The schema of the values; `None` for opaque bytes.
    #[doc(hidden)]
    fn schema() -> Option<String>;
}

/// The value as bytes, uninterpreted. As an output: bytes as they are.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[tidegate::function]
/// struct Long;
///
/// impl Unkeyed for Long {
///     type In = Bytes;
///     type Out = Bytes;
///
///     fn on_record(&mut self, value: &[u8], cx: &mut Context<Self>) -> Result {
///         if value.len() > 3 {
///             cx.emit(&value[..3]);
///         } else {
///             cx.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<Long>::new().run([Record::bytes(b"abcdef"), Record::bytes(b"xy")]);
/// assert_eq!(run.main()[0].bytes(), b"abc");
/// assert!(run.main()[1].is_forwarded());
/// ```
pub struct Bytes;

/// The value as text; a value that is not UTF-8 is a bad record. As an output: text as it is.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[tidegate::function]
/// struct Shout;
///
/// impl Unkeyed for Shout {
///     type In = Utf8;
///     type Out = Utf8;
///
///     fn on_record(&mut self, line: &str, cx: &mut Context<Self>) -> Result {
///         cx.emit(&line.to_uppercase());
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<Shout>::new().run([Record::text("hey"), Record::bytes(b"\xff")]);
/// assert_eq!(run.main()[0].text(), "HEY");
/// assert_eq!(run.bad_records()[0].message(), "the value is not UTF-8: byte 0 is wrong");
/// ```
pub struct Utf8;

/// The value as JSON, read into (or written from) a type of serde.
///
/// Parsing happens in the sandbox and costs several times what [`struct@Fields`] cost: prefer those, and use
/// this for values whose shape is deep or varies.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tidegate::prelude::*;
///
/// #[derive(Deserialize, Schema)]
/// struct Cart {
///     items: Vec<String>,
/// }
///
/// #[derive(Serialize, Deserialize, Schema, PartialEq, Debug)]
/// struct Size {
///     count: usize,
/// }
///
/// #[tidegate::function]
/// struct CartSize;
///
/// impl Unkeyed for CartSize {
///     type In = Json<Cart>;
///     type Out = Json<Size>;
///
///     fn on_record(&mut self, cart: Cart, cx: &mut Context<Self>) -> Result {
///         cx.emit(&Size { count: cart.items.len() });
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<CartSize>::new().run([Record::json(r#"{"items": ["a", "b"]}"#)]);
/// assert_eq!(run.main()[0].json::<Size>(), Size { count: 2 });
/// ```
pub struct Json<T>(PhantomData<fn() -> T>);

/// Nothing but the key: neither value nor fields cross into the sandbox.
///
/// ```
/// use tidegate::prelude::*;
///
/// /// Lets the first record of each key through.
/// #[tidegate::function]
/// struct First {
///     #[state]
///     seen: Value<bool>,
/// }
///
/// impl Keyed for First {
///     type In = KeyOnly;
///     type Out = Forward;
///
///     fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
///         if self.seen.get()?.is_none() {
///             self.seen.set(true);
///             cx.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let run = Harness::<First>::new().run(["a", "b", "a"].map(|key| Record::tombstone().key(key)));
/// assert_eq!(run.main().len(), 2);
/// ```
pub struct KeyOnly;

/// A port of the descriptor.
pub(crate) fn port(name: &str, schema: Option<String>) -> PortDescriptor {
    PortDescriptor { id: 0, name: name.to_owned(), fields: Vec::new(), schema }
}

/// The one input of `I` under another number and name, for an enum of inputs.
#[doc(hidden)]
#[must_use]
pub fn rename<I: Input>(id: u16, name: &str) -> PortDescriptor {
    let mut ports = I::ports().into_iter();
    match (ports.next(), ports.next()) {
        (Some(port), None) => PortDescriptor { id, name: name.to_owned(), ..port },
        _ => panic!("the input `{name}` is itself made of several inputs: list them in one enum"),
    }
}

impl<T: FieldSet> Input for Fields<T> {
    type Record<'a> = T::At<'a>;
    type Reader<'a> = T::Columns<'a>;
    const WANTS_VALUES: bool = false;

    fn ports() -> Vec<PortDescriptor> {
        vec![PortDescriptor { fields: T::specs(), ..port(MAIN, None) }]
    }
    fn open(batch: &InputBatch) -> Result<T::Columns<'_>> {
        T::open(&batch.fields)
    }
    #[inline]
    fn read<'a>(reader: &Self::Reader<'a>, row: usize) -> Result<Self::Record<'a>> {
        Ok(T::read(reader, row))
    }
}

impl Input for KeyOnly {
    type Record<'a> = ();
    type Reader<'a> = ();
    const WANTS_VALUES: bool = false;

    fn ports() -> Vec<PortDescriptor> {
        vec![port(MAIN, None)]
    }
    fn open(_: &InputBatch) -> Result<()> {
        Ok(())
    }
    #[inline]
    fn read<'a>((): &Self::Reader<'a>, _: usize) -> Result<Self::Record<'a>> {
        Ok(())
    }
}

/// An input that hands each value to a [`ValueInput`].
macro_rules! value_input {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Input for $type {
            type Record<'a> = <Self as ValueInput>::Record<'a>;
            type Reader<'a> = &'a InputBatch;
            const WANTS_VALUES: bool = true;

            fn ports() -> Vec<PortDescriptor> {
                vec![port(MAIN, <Self as ValueInput>::schema())]
            }
            fn open(batch: &InputBatch) -> Result<&InputBatch> {
                Ok(batch)
            }
            #[inline]
            fn read<'a>(reader: &Self::Reader<'a>, row: usize) -> Result<Self::Record<'a>> {
                <Self as ValueInput>::parse(reader.values.get(row))
            }
        }
    };
}

value_input!([] Bytes);
value_input!([] Utf8);
value_input!([T: DeserializeOwned + Schema] Json<T>);
value_input!([V: ValueInput] Option<V>);

impl ValueInput for Bytes {
    type Record<'a> = &'a [u8];

    #[inline]
    fn parse(value: Option<&[u8]>) -> Result<&[u8]> {
        value.ok_or_else(|| tombstone("Bytes"))
    }
    fn schema() -> Option<String> {
        None
    }
}

impl ValueInput for Utf8 {
    type Record<'a> = &'a str;

    #[inline]
    fn parse(value: Option<&[u8]>) -> Result<&str> {
        let value = value.ok_or_else(|| tombstone("Utf8"))?;
        std::str::from_utf8(value)
            .map_err(|error| Error::new(format!("the value is not UTF-8: byte {} is wrong", error.valid_up_to())))
    }
    fn schema() -> Option<String> {
        Some(schema_text::<String>())
    }
}

impl<T: DeserializeOwned + Schema> ValueInput for Json<T> {
    type Record<'a> = T;

    fn parse(value: Option<&[u8]>) -> Result<T> {
        let value = value.ok_or_else(|| tombstone("Json<T>"))?;
        serde_json::from_slice(value)
            .map_err(|error| Error::new(format!("the value is not the JSON expected: {error}")))
    }
    fn schema() -> Option<String> {
        Some(schema_text::<T>())
    }
}

impl<V: ValueInput> ValueInput for Option<V> {
    type Record<'a> = Option<V::Record<'a>>;

    #[inline]
    fn parse(value: Option<&[u8]>) -> Result<Option<V::Record<'_>>> {
        value.map(|value| V::parse(Some(value))).transpose()
    }
    fn schema() -> Option<String> {
        V::schema()
    }
}

#[cold]
fn tombstone(input: &str) -> Error {
    Error::new(format!("the record has no value (a tombstone): `type In = Option<{input}>` receives such records"))
}
