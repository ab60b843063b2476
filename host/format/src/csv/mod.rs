//! CSV: one record per value, its cells named by the columns of the format.

use model::Values;

use crate::decoder::{Decoded, Output};
use crate::{CsvFormat, Cut, CutError};

/// Cuts columns out of CSV records.
#[derive(Debug)]
pub(crate) struct CsvDecoder {
    output: Output,
}

impl CsvDecoder {
    pub(crate) fn new(_format: &CsvFormat, cuts: &[Cut]) -> Result<Self, CutError> {
        Ok(Self { output: Output::new(cuts) })
    }

    pub(crate) fn decode(&mut self, values: &Values) -> Decoded {
        self.output.begin(values)
    }
}
