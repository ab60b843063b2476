//! What we prove to a store who we are with, and how it stays out of messages.

use std::error::Error as StdError;
use std::fmt;

use object_store::Error;

/// Below this it would not be a secret, and cutting it out would leave no message.
const SHORTEST_BYTES: usize = 4;

/// Most characters of what a store said that are kept: some answer with a page.
const MOST_SHOWN: usize = 600;

/// Texts that no message holds.
pub(super) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.0.len()).finish()
    }
}

impl Secrets {
    pub(super) fn new(secrets: impl IntoIterator<Item = Option<String>>) -> Self {
        let mut secrets: Vec<String> = secrets.into_iter().flatten().filter(|it| it.len() >= SHORTEST_BYTES).collect();
        // One may be a part of another.
        secrets.sort_by_key(|it| std::cmp::Reverse(it.len()));
        Self(secrets)
    }

    /// The same error, with all that led to it in one line, and no secret.
    pub(super) fn cut_out_of(&self, error: Error) -> Error {
        let text = self.shown(&error);
        let is = |status: &str| text.contains(&format!("status code: {status} "));
        let path = String::new();
        // Of a put and a get the client tells these apart, of a list it does not.
        let (is_denied, is_missing) = (is("403") || is("401"), is("404"));
        let source = Box::new(Said(text));
        match error {
            Error::Generic { .. } if is_denied => Error::PermissionDenied { path, source },
            Error::Generic { .. } if is_missing => Error::NotFound { path, source },
            Error::NotFound { path, .. } => Error::NotFound { path, source },
            Error::AlreadyExists { path, .. } => Error::AlreadyExists { path, source },
            Error::Precondition { path, .. } => Error::Precondition { path, source },
            Error::PermissionDenied { path, .. } => Error::PermissionDenied { path, source },
            Error::Unauthenticated { path, .. } => Error::Unauthenticated { path, source },
            _ => Error::Generic { store: "S3", source },
        }
    }

    fn shown(&self, error: &Error) -> String {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(error.source().unwrap_or(error));
        let mut text = String::new();
        while let Some(it) = cause {
            let said = it.to_string();
            if !text.contains(&said) {
                let joint = if text.is_empty() { "" } else { ": " };
                text = format!("{text}{joint}{said}");
            }
            cause = it.source();
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = self.0.iter().fold(text, |text, secret| text.replace(secret.as_str(), "…"));
        match text.char_indices().nth(MOST_SHOWN) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        }
    }
}

/// What a store said.
#[derive(Debug)]
struct Said(String);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Said {}
