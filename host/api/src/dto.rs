//! What goes over the wire.

use serde::Serialize;

/// Answer of `/api/v1/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// `tidegate`.
    pub name: &'static str,
    /// The version of the server.
    pub version: &'static str,
    /// The newest version of the interface it speaks.
    pub api: &'static str,
}

/// Answer of the health pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// `ok`.
    pub status: &'static str,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What kind; `about:blank` where the status says it all.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What is wrong, with names and values.
    pub detail: String,
}
