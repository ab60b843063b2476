//! What goes wrong in this room.

use model::{Blame, KeyGroup, OperatorUid, Retry, SlotIndex, StateId, StateKind};

use crate::Flaw;

/// Why the state log refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A segment of a checkpoint is not what was written. Another copy or an older checkpoint helps.
    #[error("state segment {segment} of `{operator}` is damaged at byte {at}: {flaw}")]
    Damaged {
        /// Whose state.
        operator: OperatorUid,
        /// Which of the segments given, from 0.
        segment: usize,
        /// Where in it.
        at: usize,
        /// What is wrong.
        flaw: Flaw,
    },
    /// A segment was written by a newer Tidegate.
    #[error("state segment {segment} of `{operator}` has format version {found}, this program reads up to {newest}")]
    NewerVersion {
        /// Whose state.
        operator: OperatorUid,
        /// Which of the segments given, from 0.
        segment: usize,
        /// The version found.
        found: u16,
        /// The newest version known.
        newest: u16,
    },
    /// A segment holds entries of another kind than the function declares.
    #[error("state {state} of `{operator}` was written as {found}, the function declares it as {declared}")]
    OtherKind {
        /// Whose state.
        operator: OperatorUid,
        /// The state.
        state: StateId,
        /// What lies in the segment: `value` or `map-entries`.
        found: &'static str,
        /// What is declared.
        declared: &'static str,
    },
    /// The table has no segment number left.
    #[error("the keyed state of one subtask is full: all {segments} segments are in use")]
    Full {
        /// How many there are.
        segments: usize,
    },
    /// An image was asked for while the running epoch had already written.
    #[error("an image is of the last mark, and something was written after it")]
    NotAtMark,
    /// A call names a state that was not declared.
    #[error("state {state} was not declared")]
    Undeclared {
        /// The state.
        state: StateId,
    },
    /// A call does not fit the kind of its state.
    #[error("state {state} has the kind {kind:?}, the call is for another")]
    WrongKind {
        /// The state.
        state: StateId,
        /// Its kind.
        kind: StateKind,
    },
    /// A call names a slot that the batch does not have.
    #[error("slot {slot} was named, the batch has {slots}")]
    NoSuchSlot {
        /// The slot.
        slot: SlotIndex,
        /// How many there are.
        slots: usize,
    },
    /// Columns of one call have different lengths.
    #[error("{what}: {found} were given, {expected} expected")]
    Lengths {
        /// Which column.
        what: &'static str,
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A key belongs to another subtask.
    #[error("key group {group} was asked for, the subtask owns {first} to {end} (exclusive)")]
    ForeignKey {
        /// The key's group.
        group: KeyGroup,
        /// The first group owned.
        first: KeyGroup,
        /// One past the last group owned.
        end: KeyGroup,
    },
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let (blame, retry, code) = match &error {
            Error::Damaged { .. } => (Blame::External, Retry::No, Some("E0601")),
            Error::NewerVersion { .. } => (Blame::Config, Retry::No, Some("E0602")),
            Error::OtherKind { .. } => (Blame::Guest, Retry::No, Some("E0603")),
            Error::Full { .. } => (Blame::Config, Retry::No, Some("E0604")),
            Error::NotAtMark
            | Error::Undeclared { .. }
            | Error::WrongKind { .. }
            | Error::NoSuchSlot { .. }
            | Error::Lengths { .. }
            | Error::ForeignKey { .. } => (Blame::Host, Retry::No, None),
        };
        let seam = Self::new(blame, retry, error.to_string()).with_source(error);
        match code {
            Some(code) => seam.with_code(code),
            None => seam,
        }
    }
}
