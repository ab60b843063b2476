//! The first failure of a writer, which every later call repeats.

use std::sync::{Arc, OnceLock};

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

/// As [`FirstFailure`], for a writer and the threads that make durable what it wrote: a failure of one
/// stands for all.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedFailure(Arc<OnceLock<contract::Error>>);

impl SharedFailure {
    /// Does `work`, unless something has failed before; remembers its failure, unless that may be tried again.
    pub(crate) fn unless<T>(&self, work: impl FnOnce() -> Result<T, contract::Error>) -> Result<T, contract::Error> {
        if let Some(first) = self.0.get() {
            return Err(first.repeat());
        }
        work().inspect_err(|error| {
            if error.retry() != model::Retry::Backoff {
                self.0.get_or_init(|| error.repeat());
            }
        })
    }
}
