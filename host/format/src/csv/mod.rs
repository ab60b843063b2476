//! CSV: one record per value, its cells named by the columns of the format.
//!
//! Quoting is that of RFC 4180, read as leniently as the `csv` crate reads it. An empty cell is absent,
//! whether quoted or not. Cells are not trimmed: a space is part of a text, and makes a number none.
//!
//! # Absent on purpose
//! No header: whoever reads the file reads its first line. No rows over several values: a source that
//! splits at line ends delivers half of a cell with a line end in it, which is a fault here.

mod cells;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use model::{Values, is_csv_delimiter};

use self::cells::append;
use crate::decoder::{Decoded, Output};
use crate::fault::sample;
use crate::raw::{check_whole, push_text};
use crate::utf8::Utf8;
use crate::{CsvFormat, Cut, CutError, Fault, FaultKind, WHOLE_VALUE, pointer};

/// Cuts columns out of CSV records.
#[derive(Debug)]
pub(crate) struct CsvDecoder {
    cuts: Vec<Cut>,
    /// The column of each cut; `None` for the whole value.
    places: Vec<Option<usize>>,
    columns: usize,
    reader: Reader,
    record: Record,
    output: Output,
}

/// The cells of a record, unquoted, end to end.
#[derive(Debug, Default)]
struct Record {
    text: Vec<u8>,
    ends: Vec<usize>,
    cells: usize,
}

impl Record {
    /// Cell `index`; empty when there is none.
    fn cell(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends.get(index - 1).copied().unwrap_or(0) };
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.text.get(start..end).unwrap_or_default()
    }
}

impl CsvDecoder {
    pub(crate) fn new(format: &CsvFormat, cuts: &[Cut]) -> Result<Self, CutError> {
        check_delimiter(format.delimiter)?;
        let places = cuts.iter().map(|cut| match cut.path.as_str() {
            WHOLE_VALUE => check_whole(cut).map(|()| None),
            path => column_of(&format.columns, path).map(Some),
        });
        Ok(Self {
            cuts: cuts.to_vec(),
            places: places.collect::<Result<_, _>>()?,
            columns: format.columns.len(),
            reader: ReaderBuilder::new().delimiter(format.delimiter).build(),
            record: Record { text: Vec::new(), ends: vec![0; format.columns.len() + 1], cells: 0 },
            output: Output::new(cuts),
        })
    }

    pub(crate) fn decode(&mut self, values: &Values) -> Decoded {
        let utf8 = Utf8::of(values);
        let mut decoded = self.output.begin(values);
        for (row, &span) in (0u32..).zip(values.spans()) {
            let Some(bytes) = values.get(row as usize) else {
                decoded.push_tombstone(row, self.cuts.iter());
                continue;
            };
            if !utf8.holds(span, bytes) {
                decoded.push_not_utf8(row, bytes);
                continue;
            }
            match self.read(bytes) {
                Ok(()) => self.append_row(row, bytes, &mut decoded),
                Err((kind, message)) => decoded.push_broken_row(row, kind, message),
            }
        }
        self.output.end(&decoded);
        decoded
    }

    /// Reads the one record of a value.
    fn read(&mut self, bytes: &[u8]) -> Result<(), (FaultKind, String)> {
        if bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
            let message = format!("expected a CSV record, found {} bytes of line ends", bytes.len());
            return Err((FaultKind::EmptyValue, message));
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            return Err((FaultKind::Bom, "expected a CSV record, found a byte order mark at byte 0".to_owned()));
        }
        self.reader.reset();
        self.record.text.resize(bytes.len(), 0);
        let (mut input, mut text_length, mut cells) = (bytes, 0, 0);
        let mut line_end_given = false;
        loop {
            let text = self.record.text.get_mut(text_length..).unwrap_or_default();
            let ends = self.record.ends.get_mut(cells..).unwrap_or_default();
            let (result, taken, written, ended) = self.reader.read_record(input, text, ends);
            input = input.get(taken..).unwrap_or_default();
            text_length += written;
            cells += ended;
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::OutputFull => self.record.text.resize(2 * text_length + 64, 0),
                ReadRecordResult::OutputEndsFull => self.record.ends.resize(2 * cells + 1, 0),
                // A line end closes every record, unless a quote is open.
                ReadRecordResult::InputEmpty if !line_end_given => {
                    input = b"\n";
                    line_end_given = true;
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => return Err(unclosed(bytes)),
            }
        }
        self.record.cells = cells;
        self.check_record(bytes, if line_end_given { &[] } else { input })
    }

    /// Checks that nothing follows the record, and that it has a cell for each column.
    fn check_record(&self, bytes: &[u8], rest: &[u8]) -> Result<(), (FaultKind, String)> {
        if let Some(more) = rest.iter().position(|byte| !matches!(byte, b'\r' | b'\n')) {
            let at = bytes.len() - rest.len() + more;
            let found = sample(bytes.get(at..).unwrap_or_default());
            let message = format!("expected the end of the value after one record, found {found} at byte {at}");
            return Err((FaultKind::TrailingBytes, message));
        }
        if self.record.cells != self.columns {
            let (found, expected) = (self.record.cells, self.columns);
            let message = format!("expected {expected} cells, found {found}; the record begins {}", sample(bytes));
            return Err((FaultKind::WrongCellCount, message));
        }
        Ok(())
    }

    /// Appends the cells of the record just read.
    fn append_row(&self, row: u32, bytes: &[u8], decoded: &mut Decoded) {
        let Decoded { columns, faults } = decoded;
        for (index, ((cut, place), column)) in self.cuts.iter().zip(&self.places).zip(columns).enumerate() {
            let Some(place) = *place else {
                push_text(column, bytes);
                continue;
            };
            let cell = self.record.cell(place);
            if let Err(kind) = append(cut, cell, column) {
                column.push_absent();
                let message = cells::describe(cut, kind, place, cell);
                faults.push(Fault { row, cut: Some(index), kind, message });
            }
        }
    }
}

#[cold]
fn unclosed(bytes: &[u8]) -> (FaultKind, String) {
    let at = memchr::memchr(b'"', bytes).unwrap_or(0);
    let found = sample(bytes.get(at..).unwrap_or_default());
    let message =
        format!("expected every quote to be closed, found one that is not; the first is at byte {at}: {found}");
    (FaultKind::BrokenCsv, message)
}

/// The column a path names.
pub(crate) fn column_of(columns: &[String], path: &str) -> Result<usize, CutError> {
    let steps = pointer::steps(path)?;
    let [name] = steps.as_slice() else {
        return Err(CutError::NestedInCsv { path: path.to_owned(), found: steps.len() });
    };
    let mut named = columns.iter().enumerate().filter(|(_, column)| *column == name);
    match (named.next(), named.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => Err(CutError::AmbiguousColumn { path: path.to_owned() }),
        (None, _) => Err(CutError::NoSuchColumn { path: path.to_owned(), columns: listed(columns) }),
    }
}

/// Column names for a person.
fn listed(columns: &[String]) -> String {
    const MOST: usize = 20;
    let mut names: Vec<String> = columns.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    if columns.len() > MOST {
        names.push(format!("and {} more", columns.len() - MOST));
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Whether a byte can stand between cells.
pub(crate) fn check_delimiter(delimiter: u8) -> Result<(), CutError> {
    if is_csv_delimiter(delimiter) { Ok(()) } else { Err(CutError::Delimiter { delimiter: char::from(delimiter) }) }
}
