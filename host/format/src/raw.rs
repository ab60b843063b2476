//! Raw values: only the whole of them can be cut.

use model::{Cells, FieldColumn, FieldKind, Values};

use crate::decoder::{Decoded, Output};
use crate::json::{expected, not_utf8};
use crate::utf8::Utf8;
use crate::{Cut, CutError, CutKind, Fault, FaultKind, WHOLE_VALUE};

/// Cuts whole values.
#[derive(Debug)]
pub(crate) struct RawDecoder {
    cuts: Vec<Cut>,
    output: Output,
}

impl RawDecoder {
    pub(crate) fn new(cuts: &[Cut]) -> Result<Self, CutError> {
        for cut in cuts {
            if cut.path != WHOLE_VALUE {
                return Err(CutError::RawHasNoPaths { path: cut.path.clone() });
            }
            check_whole(cut)?;
        }
        Ok(Self { cuts: cuts.to_vec(), output: Output::new(cuts) })
    }

    pub(crate) fn decode(&mut self, values: &Values) -> Decoded {
        let wants_text = self.cuts.iter().any(|cut| cut.kind != CutKind::Key);
        let utf8 = if wants_text { Utf8::of(values) } else { Utf8::Each };
        let mut decoded = self.output.begin(values);
        for (row, &span) in (0u32..).zip(values.spans()) {
            let Some(bytes) = values.get(row as usize) else {
                decoded.push_tombstone(row, self.cuts.iter());
                continue;
            };
            let is_text = !wants_text || utf8.holds(span, bytes);
            let Decoded { columns, faults } = &mut decoded;
            for (index, (cut, column)) in self.cuts.iter().zip(columns).enumerate() {
                if is_text || cut.kind == CutKind::Key {
                    push_text(column, bytes);
                } else {
                    column.push_absent();
                    let message = format!("`{}`: {}", cut.path, not_utf8(bytes));
                    faults.push(Fault { row, cut: Some(index), kind: FaultKind::InvalidUtf8, message });
                }
            }
        }
        self.output.end(&decoded);
        decoded
    }
}

/// Whether a cut of the whole value is one as text.
pub(crate) fn check_whole(cut: &Cut) -> Result<(), CutError> {
    match cut.kind {
        CutKind::Key | CutKind::Field(FieldKind::Text) => Ok(()),
        kind => Err(CutError::WholeValueKind { kind: expected(kind).to_owned(), also: "" }),
    }
}

/// Appends a text to a column of texts.
#[inline]
pub(crate) fn push_text(column: &mut FieldColumn, text: &[u8]) {
    if let Cells::Texts(cells) = &mut column.cells {
        cells.push(text);
        column.mark_present();
    }
}
