//! Cuts columns out of batches of values.

use model::{Cells, Column, FieldColumn, FieldKind, Values};

use crate::csv::CsvDecoder;
use crate::json::{self, JsonDecoder};
use crate::raw::RawDecoder;
use crate::{Cut, CutError, CutKind, Fault, FaultKind, Format};

/// What was cut out of a batch.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// One column per cut, one cell per row. A key and a text become texts, a time becomes integers
    /// (milliseconds since 1970). The cell of a row at fault is absent.
    pub columns: Vec<FieldColumn>,
    /// What is wrong, by row.
    pub faults: Vec<Fault>,
}

/// Cuts key, time and fields out of values, in one pass over each.
#[derive(Debug)]
pub struct Decoder(By);

#[derive(Debug)]
enum By {
    Raw(RawDecoder),
    Json(JsonDecoder),
    Csv(CsvDecoder),
}

impl Decoder {
    /// A decoder for `cuts` in values of `format`.
    ///
    /// # Errors
    /// [`CutError`] when a path is no path, or makes no sense in the format.
    pub fn new(format: &Format, cuts: &[Cut]) -> Result<Self, CutError> {
        Ok(Self(match format {
            Format::Raw => By::Raw(RawDecoder::new(cuts)?),
            Format::Json => By::Json(JsonDecoder::new(cuts)?),
            Format::Csv(csv) => By::Csv(CsvDecoder::new(csv, cuts)?),
        }))
    }

    /// Cuts `values`. Every column has a cell for every row, also for a row at fault.
    ///
    /// A value that does not exist (a tombstone) has no cells; it is at fault where a cut is required.
    pub fn decode(&mut self, values: &Values) -> Decoded {
        match &mut self.0 {
            By::Raw(decoder) => decoder.decode(values),
            By::Json(decoder) => decoder.decode(values),
            By::Csv(decoder) => decoder.decode(values),
        }
    }
}

/// Makes the columns of a batch with the room that the last batch needed.
#[derive(Debug)]
pub(crate) struct Output {
    kinds: Vec<CutKind>,
    /// Bytes of text per row that the last batch had, by cut.
    row_bytes: Vec<usize>,
}

impl Output {
    pub(crate) fn new(cuts: &[Cut]) -> Self {
        Self { kinds: cuts.iter().map(|cut| cut.kind).collect(), row_bytes: vec![16; cuts.len()] }
    }

    /// Empty columns for the cuts of `values`.
    pub(crate) fn begin(&self, values: &Values) -> Decoded {
        let rows = values.len();
        // No cell is longer than its value, and rows that share bytes need not be copied all: one long
        // value must not make the next batch reserve as much for each of its rows.
        let most_bytes = values.total_bytes().min(values.arena().len());
        let columns = self.kinds.iter().zip(&self.row_bytes).map(|(&kind, row_bytes)| FieldColumn {
            present: Vec::new(),
            cells: match kind {
                CutKind::Key | CutKind::Field(FieldKind::Text | FieldKind::Json) => {
                    Cells::Texts(Column::with_capacity(rows, rows.saturating_mul(*row_bytes).min(most_bytes)))
                }
                CutKind::Time(_) | CutKind::Field(FieldKind::Integer | FieldKind::Timestamp) => {
                    Cells::Integers(Vec::with_capacity(rows))
                }
                CutKind::Field(FieldKind::Float) => Cells::Floats(Vec::with_capacity(rows)),
                CutKind::Field(FieldKind::Boolean) => Cells::Booleans(Vec::with_capacity(rows)),
            },
        });
        Decoded { columns: columns.collect(), faults: Vec::new() }
    }

    /// Notes what a batch needed.
    pub(crate) fn end(&mut self, decoded: &Decoded) {
        for (row_bytes, column) in self.row_bytes.iter_mut().zip(&decoded.columns) {
            if let Cells::Texts(cells) = &column.cells
                && !cells.is_empty()
            {
                *row_bytes = cells.bytes().len() / cells.len() + 1;
            }
        }
    }
}

impl Decoded {
    /// Appends a row whose value is broken as a whole.
    #[cold]
    pub(crate) fn push_broken_row(&mut self, row: u32, kind: FaultKind, message: String) {
        self.push_absent_row();
        self.faults.push(Fault { row, cut: None, kind, message });
    }

    /// Appends a row whose value is not UTF-8.
    #[cold]
    pub(crate) fn push_not_utf8(&mut self, row: u32, bytes: &[u8]) {
        self.push_broken_row(row, FaultKind::InvalidUtf8, json::not_utf8(bytes));
    }

    /// Appends a row without a value.
    pub(crate) fn push_tombstone<'a>(&mut self, row: u32, mut cuts: impl Iterator<Item = &'a Cut>) {
        match cuts.find(|cut| cut.required || cut.kind == CutKind::Key) {
            Some(cut) => {
                let message = format!("`{}`: expected {}, found no value", cut.path, json::expected(cut.kind));
                self.push_broken_row(row, FaultKind::EmptyValue, message);
            }
            None => self.push_absent_row(),
        }
    }

    fn push_absent_row(&mut self) {
        for column in &mut self.columns {
            column.push_absent();
        }
    }
}
