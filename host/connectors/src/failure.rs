//! The first failure of a writer, which every later call repeats.

/// None yet, or the one that stands.
#[derive(Debug, Default)]
pub(crate) struct FirstFailure(Option<contract::Error>);

impl FirstFailure {
    /// Does `work`, unless something has failed before; remembers its failure.
    pub(crate) fn unless<E: Into<contract::Error>>(
        &mut self,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), contract::Error> {
        if let Some(first) = &self.0 {
            return Err(first.repeat());
        }
        work().map_err(|error| {
            let error = error.into();
            self.0 = Some(error.repeat());
            error
        })
    }
}
