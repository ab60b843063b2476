//! What `serde_json` makes of a document is what a decoder must make of it: the comparison shared by the
//! property tests and the fuzz target.

use format::{Cut, CutKind, Decoded, Decoder, Format, TimeUnit, WHOLE_VALUE, validate_json};
use model::{Cells, Column, FieldKind, Values};
use serde_json::Value;

/// Paths that generated documents are likely to have.
pub(crate) const PATHS: [&str; 12] = [
    "/a",
    "/b",
    "/a/b",
    "/a/0",
    "/b/1/a",
    "/a/a/a/a",
    "/a~1b~0",
    "/é",
    // The member without a name of the member without a name.
    "//",
    // No element: it has a leading zero.
    "/b/00",
    // Longer than one comparison of a guess, with a twin that differs at its end.
    "/a name of 20 bytes 1",
    "/a name that is too long to be guessed",
];

const KINDS: [CutKind; 9] = [
    CutKind::Field(FieldKind::Text),
    CutKind::Field(FieldKind::Integer),
    CutKind::Field(FieldKind::Float),
    CutKind::Field(FieldKind::Boolean),
    CutKind::Field(FieldKind::Timestamp),
    CutKind::Field(FieldKind::Json),
    CutKind::Key,
    CutKind::Time(TimeUnit::Ms),
    CutKind::Time(TimeUnit::Us),
];

/// Every path as every kind, and the whole value.
pub(crate) fn all_cuts() -> Vec<Cut> {
    let cut = |path: &str, kind| Cut { path: path.to_owned(), kind, required: false };
    let mut cuts = vec![cut(WHOLE_VALUE, CutKind::Key), cut(WHOLE_VALUE, CutKind::Field(FieldKind::Json))];
    for path in PATHS {
        cuts.extend(KINDS.map(|kind| cut(path, kind)));
    }
    cuts
}

/// Decodes `documents` with one decoder, some of them twice so that it can guess, and compares every
/// verdict and every cell with `serde_json`.
///
/// # Panics
/// When they differ.
pub(crate) fn compare(documents: &[&[u8]]) {
    let cuts = all_cuts();
    let mut decoder = Decoder::new(&Format::Json, &cuts).expect("the cuts are right");
    let twice: Vec<&[u8]> = documents.iter().chain(documents).copied().collect();
    let values = Values::from(twice.iter().collect::<Column>());
    let decoded = decoder.decode(&values);
    for (row, document) in twice.iter().enumerate() {
        compare_row(&cuts, &decoded, row, document);
    }
}

fn compare_row(cuts: &[Cut], decoded: &Decoded, row: usize, document: &[u8]) {
    let shown = String::from_utf8_lossy(document);
    let broken = decoded.faults.iter().find(|fault| fault.row as usize == row && fault.cut.is_none());
    let value = match (serde_json::from_slice::<Value>(document), broken) {
        (Ok(value), None) => value,
        (Err(_), Some(_)) => {
            assert!(validate_json(document).is_err(), "validate_json accepts {shown}");
            assert_eq!(decoded.faults.iter().filter(|fault| fault.row as usize == row).count(), 1);
            return;
        }
        (Ok(_), Some(fault)) => panic!("only serde_json accepts {shown}: {}", fault.message),
        (Err(error), None) => panic!("only we accept {shown}: {error}"),
    };
    assert_eq!(validate_json(document), Ok(()), "validate_json refuses {shown}");
    for (index, (cut, column)) in cuts.iter().zip(&decoded.columns).enumerate() {
        let fault = decoded.faults.iter().find(|fault| fault.row as usize == row && fault.cut == Some(index));
        let expected = expected_cell(cut, &value, document);
        let found = match (fault, column.is_present(row)) {
            (Some(_), true) => panic!("a cell at fault is there: {cut:?} of {shown}"),
            (Some(_), false) => Expected::Fault,
            (None, false) => Expected::Absent,
            (None, true) => cell(&column.cells, row, &expected),
        };
        assert_eq!(found, expected, "{cut:?} of {shown}, {fault:?}");
    }
}

/// What a cell is.
#[derive(Debug, PartialEq)]
enum Expected {
    Fault,
    Absent,
    Bytes(Vec<u8>),
    Integer(i64),
    FloatBits(u64),
    Boolean(u8),
    /// Text that means this.
    Json(Value),
}

fn expected_cell(cut: &Cut, value: &Value, document: &[u8]) -> Expected {
    if cut.path == WHOLE_VALUE {
        return Expected::Bytes(document.to_vec());
    }
    let found = value.pointer(&cut.path).filter(|found| !found.is_null());
    let Some(found) = found else {
        return if cut.kind == CutKind::Key { Expected::Fault } else { Expected::Absent };
    };
    let cell = match cut.kind {
        CutKind::Field(FieldKind::Text) => found.as_str().map(|text| Expected::Bytes(text.into())),
        CutKind::Field(FieldKind::Integer | FieldKind::Timestamp) => found.as_i64().map(Expected::Integer),
        CutKind::Time(TimeUnit::Ms) => found.as_i64().filter(|&ms| ms != i64::MIN).map(Expected::Integer),
        CutKind::Time(_) => found.as_i64().map(|us| Expected::Integer(us.div_euclid(1000))),
        CutKind::Field(FieldKind::Float) => found.as_f64().map(|float| Expected::FloatBits(float.to_bits())),
        CutKind::Field(FieldKind::Boolean) => found.as_bool().map(|truth| Expected::Boolean(truth.into())),
        CutKind::Field(FieldKind::Json) => Some(Expected::Json(found.clone())),
        CutKind::Key => match found {
            Value::String(text) => Some(Expected::Bytes(text.as_bytes().to_vec())),
            Value::Bool(_) | Value::Number(_) => Some(Expected::Json(found.clone())),
            _ => None,
        },
    };
    cell.unwrap_or(Expected::Fault)
}

/// The cell of `row`, as what it is expected to be where texts can be read two ways.
fn cell(cells: &Cells, row: usize, expected: &Expected) -> Expected {
    match (cells, expected) {
        (Cells::Texts(cells), Expected::Json(_)) => {
            Expected::Json(serde_json::from_slice(cells.get(row)).expect("raw text is JSON"))
        }
        (Cells::Texts(cells), _) => Expected::Bytes(cells.get(row).to_vec()),
        (Cells::Integers(cells), _) => Expected::Integer(cells[row]),
        (Cells::Floats(cells), _) => Expected::FloatBits(cells[row].to_bits()),
        (Cells::Booleans(cells), _) => Expected::Boolean(cells[row]),
    }
}
