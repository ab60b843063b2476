//! From what was found in a document to the cells of the columns.

use model::{Cells, EventTime, FieldColumn, FieldKind};

use super::scan::{Found, What};
use super::strings::unescape;
use crate::fault::sample;
use crate::time::{rfc3339_to_millis, seconds_to_millis, whole_to_millis};
use crate::{Cut, CutKind, FaultKind, TimeUnit, WHOLE_VALUE};

/// The time no record can have: it stands for none.
const UNKNOWN_TIME: i64 = EventTime::UNKNOWN.0;

/// A cut, ready to be made.
#[derive(Debug)]
pub(super) struct Wanted {
    /// As it was asked for.
    pub(super) cut: Cut,
    /// Its place in the plan.
    pub(super) node: usize,
    /// Whether it is the whole value.
    whole: bool,
}

impl Wanted {
    pub(super) fn new(cut: Cut, node: usize) -> Self {
        let whole = cut.path == WHOLE_VALUE;
        Self { cut, node, whole }
    }

    /// Appends the cell of one row to `column`; nothing where it is at fault.
    #[inline]
    pub(super) fn append(
        &self,
        found: Option<&Found>,
        bytes: &[u8],
        column: &mut FieldColumn,
    ) -> Result<(), FaultKind> {
        let Some(found) = found else { return self.append_lacking(FaultKind::MissingField, column) };
        if self.whole {
            return append_text(column, bytes);
        }
        if found.what == What::Null && (self.cut.kind != CutKind::Field(FieldKind::Json) || !self.cut.required) {
            return self.append_lacking(FaultKind::NullKey, column);
        }
        match self.cut.kind {
            CutKind::Field(FieldKind::Integer | FieldKind::Timestamp) => {
                append_integer(column, integer(found, bytes, TimeUnit::Ms)?)
            }
            CutKind::Time(TimeUnit::Rfc3339) => append_integer(column, written_time(found, bytes)?),
            CutKind::Time(unit) => match integer(found, bytes, unit)? {
                UNKNOWN_TIME => Err(FaultKind::NumberOutOfRange),
                millis => append_integer(column, millis),
            },
            CutKind::Field(FieldKind::Float) => append_float(column, found, bytes),
            CutKind::Field(FieldKind::Boolean) => append_boolean(column, found),
            CutKind::Field(FieldKind::Text) => match found.what {
                What::Plain | What::Escaped => append_string(column, found, bytes),
                _ => Err(FaultKind::WrongType),
            },
            CutKind::Field(FieldKind::Json) => append_text(column, raw(found, bytes)),
            CutKind::Key => match found.what {
                What::Plain | What::Escaped => append_string(column, found, bytes),
                What::Number | What::True | What::False => append_text(column, raw(found, bytes)),
                _ => Err(FaultKind::WrongType),
            },
        }
    }

    /// The cell of a row that has nothing, or null, at the place; `null_key` is the fault of a key.
    fn append_lacking(&self, null_key: FaultKind, column: &mut FieldColumn) -> Result<(), FaultKind> {
        if self.cut.kind == CutKind::Key {
            return Err(null_key);
        }
        if self.cut.required {
            return Err(FaultKind::MissingField);
        }
        column.push_absent();
        Ok(())
    }

    /// What is wrong, for a person.
    #[cold]
    pub(super) fn describe(&self, kind: FaultKind, found: Option<&Found>, bytes: &[u8]) -> String {
        let path = &self.cut.path;
        let expected = expected(self.cut.kind);
        match found {
            None => format!("`{path}`: expected {expected}, found nothing there; the value begins {}", sample(bytes)),
            Some(found) => {
                let what = match (kind, found.what) {
                    (FaultKind::NumberOutOfRange, What::Number) if found.number.float => {
                        "a number with a fraction or exponent"
                    }
                    (_, What::Null) => "null",
                    (_, What::True | What::False) => "a boolean",
                    (_, What::Number) => "a number",
                    (_, What::Plain | What::Escaped) => "a string",
                    (_, What::Array) => "an array",
                    (_, What::Object) => "an object",
                };
                let at = found.start;
                format!("`{path}`: expected {expected}, found {what} at byte {at}: {}", sample(raw(found, bytes)))
            }
        }
    }
}

/// What a cut may be made of, for a person.
pub(crate) fn expected(kind: CutKind) -> &'static str {
    match kind {
        CutKind::Key => "a key: a string, a number or a boolean",
        CutKind::Field(FieldKind::Text) => "a string",
        CutKind::Field(FieldKind::Integer) => "an integer that fits 64 signed bits",
        CutKind::Field(FieldKind::Float) => "a number",
        CutKind::Field(FieldKind::Boolean) => "true or false",
        CutKind::Field(FieldKind::Timestamp) | CutKind::Time(TimeUnit::Ms) => "a time in whole milliseconds since 1970",
        CutKind::Field(FieldKind::Json) => "any value",
        CutKind::Time(TimeUnit::S) => "a time in seconds since 1970, without exponent",
        CutKind::Time(TimeUnit::Us) => "a time in whole microseconds since 1970",
        CutKind::Time(TimeUnit::Ns) => "a time in whole nanoseconds since 1970",
        CutKind::Time(TimeUnit::Rfc3339) => "a time like `2026-04-14T09:30:00.125Z`",
    }
}

/// The bytes of a value as they stand.
#[inline]
fn raw<'a>(found: &Found, bytes: &'a [u8]) -> &'a [u8] {
    bytes.get(found.start..found.end).unwrap_or_default()
}

/// What stands between the quotes of a string.
#[inline]
fn inside_quotes<'a>(found: &Found, bytes: &'a [u8]) -> &'a [u8] {
    bytes.get(found.start + 1..found.end - 1).unwrap_or_default()
}

#[inline]
fn integer(found: &Found, bytes: &[u8], unit: TimeUnit) -> Result<i64, FaultKind> {
    if found.what != What::Number {
        return Err(FaultKind::WrongType);
    }
    let value = match found.number.as_i64() {
        Some(whole) => whole_to_millis(unit, whole),
        None if unit == TimeUnit::S => seconds_to_millis(raw(found, bytes)),
        None => None,
    };
    value.ok_or(FaultKind::NumberOutOfRange)
}

fn written_time(found: &Found, bytes: &[u8]) -> Result<i64, FaultKind> {
    let millis = match found.what {
        What::Plain => rfc3339_to_millis(inside_quotes(found, bytes)),
        What::Escaped => {
            let mut text = Vec::new();
            unescape(inside_quotes(found, bytes), |part| text.extend_from_slice(part));
            rfc3339_to_millis(&text)
        }
        _ => return Err(FaultKind::WrongType),
    };
    millis.ok_or(FaultKind::NotATime)
}

#[inline]
fn append_integer(column: &mut FieldColumn, value: i64) -> Result<(), FaultKind> {
    let Cells::Integers(cells) = &mut column.cells else { return Err(FaultKind::WrongType) };
    cells.push(value);
    column.mark_present();
    Ok(())
}

#[inline]
fn append_float(column: &mut FieldColumn, found: &Found, bytes: &[u8]) -> Result<(), FaultKind> {
    let (What::Number, Cells::Floats(cells)) = (found.what, &mut column.cells) else {
        return Err(FaultKind::WrongType);
    };
    cells.push(found.number.as_f64(raw(found, bytes)));
    column.mark_present();
    Ok(())
}

#[inline]
fn append_boolean(column: &mut FieldColumn, found: &Found) -> Result<(), FaultKind> {
    let Cells::Booleans(cells) = &mut column.cells else { return Err(FaultKind::WrongType) };
    cells.push(match found.what {
        What::True => 1,
        What::False => 0,
        _ => return Err(FaultKind::WrongType),
    });
    column.mark_present();
    Ok(())
}

#[inline]
fn append_text(column: &mut FieldColumn, text: &[u8]) -> Result<(), FaultKind> {
    let Cells::Texts(cells) = &mut column.cells else { return Err(FaultKind::WrongType) };
    cells.push(text);
    column.mark_present();
    Ok(())
}

#[inline]
fn append_string(column: &mut FieldColumn, found: &Found, bytes: &[u8]) -> Result<(), FaultKind> {
    let text = inside_quotes(found, bytes);
    if found.what == What::Plain {
        return append_text(column, text);
    }
    let Cells::Texts(cells) = &mut column.cells else { return Err(FaultKind::WrongType) };
    unescape(text, |part| cells.extend_item(part));
    cells.close_item();
    column.mark_present();
    Ok(())
}
