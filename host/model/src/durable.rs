//! What checkpoints are made of: stored objects, staged output, and the numbers of the manifest log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::HostTime;

/// Where an object lies, and what it must be. Made when it was stored, kept in manifests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectHandle {
    /// Its name below the job's root: segments of `a-z`, `0-9`, `-` and `.`, joined by `/`.
    pub name: String,
    /// Bytes of the whole object, as stored.
    pub length_bytes: u64,
    /// xxh3-64 of the whole object, as stored.
    pub checksum: u64,
}

/// An object that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub length_bytes: u64,
    /// When it was written, by the clock of the medium.
    pub modified: HostTime,
}

/// What a sink promises of the records that reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// Records leave as they come; after a crash some leave again.
    AtLeastOnce,
    /// What leaves again has the same effect as the first time, as far as the receiver does its part.
    Idempotent,
    /// Each record is visible once: it is staged with its epoch and published after the manifest.
    ExactlyOnce,
}

/// What one writer staged in one epoch: durable, and invisible outside until it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedOutput {
    /// The unit that publishes in order.
    pub slot: u32,
    /// How many records it holds.
    pub records: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What the sink needs to publish it, in the sink's own encoding, which carries its version.
    pub body: Vec<u8>,
}

/// The place of an object in the log, from 0. Numbers may have gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectNumber(pub u64);

impl fmt::Display for ObjectNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How an attempt to create an object ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Creation {
    /// The object is there and it is ours, now or since an earlier attempt with the same nonce.
    Created,
    /// Someone else's object is there. Ours is not, and never will be under this number.
    Taken,
}
