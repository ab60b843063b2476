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
    is_out_of_room: bool,
    message: String,
    help: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error with a message: lower case, no full stop, names things and values.
    #[must_use]
    pub fn new(blame: Blame, retry: Retry, message: impl Into<String>) -> Self {
        Self { code: None, blame, retry, is_out_of_room: false, message: message.into(), help: None, source: None }
    }

    /// Gives it the code of its page `docs/errors/E####.md`.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Says whether a disk, a quota or a bucket has no room left: what helps is to make some.
    #[must_use]
    pub fn out_of_room(mut self, is_so: bool) -> Self {
        self.is_out_of_room = is_so;
        self
    }

    /// Says what to do, for a person.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// What to do, if the error says it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The code of its page, if a user can meet it.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        self.code
    }

    /// The same once more, for a caller who asks again; the cause stays with the first.
    #[must_use]
    pub fn repeat(&self) -> Self {
        let Self { code, blame, retry, is_out_of_room, ref message, ref help, source: _ } = *self;
        Self { code, blame, retry, is_out_of_room, message: message.clone(), help: help.clone(), source: None }
    }

    /// Whether there is no room left where something was to be kept.
    #[must_use]
    pub fn is_out_of_room(&self) -> bool {
        self.is_out_of_room
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
