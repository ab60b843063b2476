//! What a subtask hands over at a barrier.

use std::time::Duration;

use contract::{Staging, StateDelta, StateImage};
use model::{Epoch, EventTime, HostTime, KeyGroupRange, OperatorUid, Position, SplitIndex, SubtaskIndex};

/// What one subtask has at the end of an epoch.
pub(crate) struct Handed {
    pub(crate) operator: OperatorUid,
    pub(crate) subtask: SubtaskIndex,
    pub(crate) epoch: Epoch,
    /// No earlier event time was expected here after the barrier.
    pub(crate) watermark: EventTime,
    pub(crate) times: HandedTimes,
    pub(crate) what: HandedPart,
}

/// When and for how long a barrier kept a subtask, by the clock's elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandedTimes {
    /// When the first of its inputs delivered the barrier.
    pub(crate) arrived: Duration,
    /// From then until the last one did.
    pub(crate) alignment: Duration,
    /// How long the subtask did nothing but its snapshot.
    pub(crate) sync: Duration,
}

/// What it is.
pub(crate) enum HandedPart {
    /// Where a source stands.
    Source(Vec<SplitNow>),
    /// What a function keeps.
    State(StateNow),
    /// What a sink wrote.
    Sink {
        /// Makes it durable.
        staging: Staging,
        /// Bytes of the values, as the backlog counts them.
        bytes: u64,
    },
}

/// Where a split stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitNow {
    pub(crate) split: SplitIndex,
    pub(crate) position: Position,
    pub(crate) identity: Vec<u8>,
    pub(crate) greatest_event_time: EventTime,
    pub(crate) ended: bool,
}

/// What a subtask of a function keeps.
pub(crate) struct StateNow {
    /// Its processing time, which never falls.
    pub(crate) now: HostTime,
    pub(crate) kept: Option<Kept>,
}

/// Keyed state.
pub(crate) struct Kept {
    pub(crate) key_groups: KeyGroupRange,
    pub(crate) delta: StateDelta,
    /// The whole table, where it is time for one: the delta is part of it.
    pub(crate) image: Option<StateImage>,
}

impl Kept {
    /// Bytes of the delta.
    pub(crate) fn delta_bytes(&self) -> u64 {
        self.delta.segments.iter().map(|segment| segment.len() as u64).sum()
    }
}
