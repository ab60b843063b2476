//! Records as typed fields: the host cuts them out of the value, or encodes them into one.
//!
//! # Words
//! - *field set*: a struct with `#[derive(Fields)]`; *cell*: one field of one record.
//!
//! # Invariants
//! 1. Text is checked to be UTF-8 once per batch and borrowed from the batch; reading a record
//!    allocates nothing unless the struct owns text (`String`).

mod cell;

use std::marker::PhantomData;

use crate::Result;
use crate::bindings::types::{Field, FieldColumn};

pub use cell::{FieldType, RawJson, open, spec};

/// Typed fields of a struct `T` with `#[derive(Fields)]`, as an input or as an output.
///
/// As `type In` the host cuts the fields out of each value, whatever its format, and nothing is
/// parsed in the function; as `type Out` the host encodes them in the format of the sink.
///
/// # The derive
/// Each field of the struct is a field of the record, read from the JSON pointer `/name` (for CSV:
/// the column `name`) unless `#[field("/other/path")]` says otherwise. Types are `i64`, `f64`,
/// `bool`, `&str`, `String` (copies the text), [`Timestamp`](crate::Timestamp), [`RawJson`], and
/// `Option` of one of them: a record that lacks a field that is not an `Option` never reaches the
/// function, it is a bad record.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Order<'a> {
///     #[field("/customer/id")]
///     customer: &'a str,
///     amount: f64,
///     note: Option<&'a str>,
/// }
///
/// #[derive(Fields)]
/// struct Charge<'a> {
///     customer: &'a str,
///     cents: i64,
/// }
///
/// #[tidegate::function]
/// struct Charges;
///
/// impl Unkeyed for Charges {
///     type In = Fields<Order<'static>>;
///     type Out = Fields<Charge<'static>>;
///
///     fn on_record(&mut self, order: Order<'_>, cx: &mut Context<Self>) -> Result {
///         if order.note.is_none() {
///             cx.emit(&Charge { customer: order.customer, cents: (order.amount * 100.0) as i64 });
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut charges = Harness::<Charges>::new();
/// let run = charges.run([Record::json(r#"{"customer": {"id": "ada"}, "amount": 12.5}"#)]);
/// assert_eq!(run.main()[0].field::<String>("customer"), "ada");
/// assert_eq!(run.main()[0].field::<i64>("cents"), 1250);
/// ```
pub struct Fields<T>(PhantomData<fn() -> T>);

/// A struct of typed fields; made by `#[derive(Fields)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields that the host could cut out or encode",
    note = "write `#[derive(Fields)]` on the struct, or use `Json<{Self}>` for a type of serde"
)]
pub trait FieldSet {
    /// The struct with its text borrowed for `'a`.
    type At<'a>;
    /// The columns of a batch, opened.
    type Columns<'a>;

    /// What to cut out, in order.
    fn specs() -> Vec<Field>;

    /// Opens the columns of a batch.
    ///
    /// # Errors
    /// When the host passed other columns than asked for.
    fn open(columns: &[FieldColumn]) -> Result<Self::Columns<'_>>;

    /// The record in `row`.
    fn read<'a>(columns: &Self::Columns<'a>, row: usize) -> Self::At<'a>;

    /// Appends a record to the columns of an output; returns about how many bytes it takes.
    fn append(record: &Self::At<'_>, columns: &mut [FieldColumn]) -> usize;
}
