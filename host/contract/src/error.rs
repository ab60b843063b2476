//! The error that crosses a seam.

use std::error::Error as StdError;
use std::fmt;

use model::{Blame, Retry};

/// What went wrong behind a seam: whose fault, what now, and why.
///
/// Made from the room's own error, which stays reachable through [`StdError::source`].
#[derive(Debug)]
pub struct Error {
    code: Option<&'static str>,
    blame: Blame,
    retry: Retry,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error with a message: lower case, no full stop, names things and values.
    #[must_use]
    pub fn new(blame: Blame, retry: Retry, message: impl Into<String>) -> Self {
        Self { code: None, blame, retry, message: message.into(), source: None }
    }

    /// Gives it the code of its page `docs/errors/E####.md`.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// The code of its page, if a user can meet it.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// The same once more, for a caller who asks again; the cause stays with the first.
    #[must_use]
    pub fn repeat(&self) -> Self {
        Self { code: self.code, blame: self.blame, retry: self.retry, message: self.message.clone(), source: None }
    }

    /// Whose fault it is.
    #[must_use]
    pub fn blame(&self) -> Blame {
        self.blame
    }

    /// What helps now.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.retry
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code {
            write!(f, "{code} ")?;
        }
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_ref()?;
        Some(source.as_ref())
    }
}
