//! Why a record cannot be handled.

use std::fmt;

/// What a function returns. The error type may be left out.
///
/// ```
/// # use tidegate::prelude::*;
/// fn parse(text: &str) -> Result<i64> {
///     Ok(text.parse()?)
/// }
/// assert!(parse("12").is_ok());
/// ```
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// A reason to give up on a record, or on a configuration.
///
/// Returned from `on_record` it makes the record a bad record: what the record wrote and emitted is
/// undone, the batch goes on, and the record meets the job's `on_error` with this text. Every
/// [`std::error::Error`] becomes one through `?`, with its causes after it.
///
/// ```
/// use tidegate::Error;
///
/// let error = Error::new("order 17 has no customer");
/// assert_eq!(error.to_string(), "order 17 has no customer");
///
/// let error: Error = "x".parse::<i32>().unwrap_err().into();
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// ```
pub struct Error {
    /// Behind one pointer, so that a `Result` of nothing fits a register.
    inner: Box<Inner>,
}

struct Inner {
    message: String,
}

impl Error {
    /// An error with a text. Say what was expected and what was found.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { message: message.into() }) }
    }

    /// The text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self::new(message)
    }
}

/// What went wrong with which row of the batch.
#[doc(hidden)]
#[derive(Debug)]
pub struct Flaw {
    /// The row.
    pub row: u32,
    /// What went wrong.
    pub error: Error,
}

/// Returns from the function with an [`Error`], made like with `format!`.
///
/// ```
/// # use tidegate::prelude::*;
/// fn check(amount: f64) -> Result {
///     if amount < 0.0 {
///         bail!("amount is {amount}: expected at least 0");
///     }
///     Ok(())
/// }
/// assert_eq!(check(-1.0).unwrap_err().to_string(), "amount is -1: expected at least 0");
/// ```
#[macro_export]
macro_rules! bail {
    ($($message:tt)+) => {
        return ::std::result::Result::Err($crate::Error::new(::std::format!($($message)+)))
    };
}
