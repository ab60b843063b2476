//! From the text of a cell to a typed one.
//!
//! - an integer has an optional sign and digits, leading zeros allowed;
//! - a float is a decimal number, with an optional sign, point and exponent, and finite;
//! - a boolean is `true` or `false` in any case, `1` or `0`;
//! - a `json` field is a whole JSON document in one cell.

use std::num::IntErrorKind;

use model::{Cells, EventTime, FieldColumn, FieldKind};

use crate::fault::sample;
use crate::json::{expected, validate_json};
use crate::raw::push_text;
use crate::time::{rfc3339_to_millis, seconds_to_millis, whole_to_millis};
use crate::{Cut, CutKind, FaultKind, TimeUnit};

/// Appends the cell of one row to `column`; nothing where it is at fault.
pub(super) fn append(cut: &Cut, cell: &[u8], column: &mut FieldColumn) -> Result<(), FaultKind> {
    if cell.is_empty() {
        return match cut.kind {
            CutKind::Key => Err(FaultKind::NullKey),
            _ if cut.required => Err(FaultKind::MissingField),
            _ => {
                column.push_absent();
                Ok(())
            }
        };
    }
    match (cut.kind, &mut column.cells) {
        (CutKind::Key | CutKind::Field(FieldKind::Text), _) => {
            push_text(column, cell);
            return Ok(());
        }
        (CutKind::Field(FieldKind::Json), _) => {
            validate_json(cell).map_err(|_| FaultKind::BrokenJson)?;
            push_text(column, cell);
            return Ok(());
        }
        (CutKind::Field(FieldKind::Float), Cells::Floats(cells)) => cells.push(float(cell)?),
        (CutKind::Field(FieldKind::Boolean), Cells::Booleans(cells)) => cells.push(boolean(cell)?),
        (CutKind::Field(_), Cells::Integers(cells)) => cells.push(integer(cell)?),
        (CutKind::Time(unit), Cells::Integers(cells)) => cells.push(time(unit, cell)?),
        _ => return Err(FaultKind::WrongType),
    }
    column.mark_present();
    Ok(())
}

fn integer(cell: &[u8]) -> Result<i64, FaultKind> {
    let text = std::str::from_utf8(cell).map_err(|_| FaultKind::InvalidUtf8)?;
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => FaultKind::NumberOutOfRange,
        _ if float(cell) != Err(FaultKind::WrongType) => FaultKind::NumberOutOfRange,
        _ => FaultKind::WrongType,
    })
}

fn float(cell: &[u8]) -> Result<f64, FaultKind> {
    let has_digit = cell.iter().any(u8::is_ascii_digit);
    match fast_float2::parse::<f64, _>(cell) {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) if has_digit => Err(FaultKind::NumberOutOfRange),
        _ => Err(FaultKind::WrongType),
    }
}

fn boolean(cell: &[u8]) -> Result<u8, FaultKind> {
    if cell == b"1" || cell.eq_ignore_ascii_case(b"true") {
        Ok(1)
    } else if cell == b"0" || cell.eq_ignore_ascii_case(b"false") {
        Ok(0)
    } else {
        Err(FaultKind::WrongType)
    }
}

fn time(unit: TimeUnit, cell: &[u8]) -> Result<i64, FaultKind> {
    let millis = match (unit, integer(cell)) {
        (TimeUnit::Rfc3339, _) => rfc3339_to_millis(cell).ok_or(FaultKind::NotATime)?,
        (_, Ok(count)) => whole_to_millis(unit, count).ok_or(FaultKind::NumberOutOfRange)?,
        (TimeUnit::S, Err(kind)) => seconds_to_millis(cell).ok_or(kind)?,
        (_, Err(kind)) => return Err(kind),
    };
    if millis == EventTime::UNKNOWN.0 { Err(FaultKind::NumberOutOfRange) } else { Ok(millis) }
}

/// What is wrong, for a person.
#[cold]
pub(super) fn describe(cut: &Cut, kind: FaultKind, place: usize, cell: &[u8]) -> String {
    let (path, number) = (&cut.path, place + 1);
    let what = match cut.kind {
        CutKind::Field(FieldKind::Text) => "a text",
        CutKind::Key => "a key",
        CutKind::Field(FieldKind::Boolean) => "`true`, `false`, `1` or `0`",
        kind => expected(kind),
    };
    if cell.is_empty() {
        return format!("`{path}`: expected {what}, found an empty cell: cell {number}");
    }
    let found = sample(cell);
    if kind == FaultKind::BrokenJson {
        let why = validate_json(cell).err().unwrap_or_default();
        return format!("`{path}`: {why}, in cell {number}: {found}");
    }
    format!("`{path}`: expected {what}, found {found} in cell {number}")
}
