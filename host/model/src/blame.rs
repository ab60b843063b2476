//! The two questions every error that leaves a room answers by type.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// The user's function, or the record it was given.
    Guest,
    /// The job file, a flag, an option.
    Config,
    /// A file, a broker, a disk: something outside that we depend on.
    External,
    /// Us.
    Host,
}

/// What helps now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// Nothing until somebody changes something.
    No,
    /// The same again, later.
    Backoff,
    /// The same again after a restore.
    RestoreFirst,
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guest => "guest",
            Self::Config => "config",
            Self::External => "external",
            Self::Host => "host",
        })
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::Backoff => "backoff",
            Self::RestoreFirst => "restore-first",
        })
    }
}
