//! Timers as entries of keyed state: what is common to all who set, keep, fire or show them.
//!
//! A timer is a call that a function asked for, for a key, at a time. The pending ones of a function are entries of two
//! states, one per clock, which the host declares for it: so a timer is in every snapshot, rescale and savepoint that
//! its key is in, and nothing knows of it but who sets and fires it.
//!
//! # Invariants
//! 1. No function can declare a state with the id or the name of these: [`crate::Descriptor::check`] refuses it.
//! 2. The entry key is the time: the keys of a key's timers are in the order of their times, and setting one twice is
//!    one entry.

use crate::{Origins, Position, SourceId, SplitIndex, StateDescriptor, StateId, StateKind};

/// Which clock a timer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerClock {
    /// The watermark.
    EventTime,
    /// The host's checkpointed clock.
    ProcessingTime,
}

/// The value of a timer's entry: MessagePack's nil, for everything that reads state without knowing it.
pub const TIMER_VALUE: &[u8] = &[0xc0];

/// What flips the sign of a time, so that its bytes are in the order of the times.
const SIGN: u64 = 1 << 63;

impl TimerClock {
    /// Both.
    pub const ALL: [Self; 2] = [Self::EventTime, Self::ProcessingTime];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EventTime => "event-time",
            Self::ProcessingTime => "processing-time",
        }
    }

    /// The state that holds its timers.
    #[must_use]
    pub fn state_id(self) -> StateId {
        match self {
            Self::EventTime => StateId(0xFFF0),
            Self::ProcessingTime => StateId(0xFFF1),
        }
    }

    /// The clock whose timers the state holds; `None` for a state of the function's own.
    #[must_use]
    pub fn of_state(state: StateId) -> Option<Self> {
        Self::ALL.into_iter().find(|clock| clock.state_id() == state)
    }

    /// The state, as manifests and savepoints describe it. Its name has a character that no declared one has.
    #[must_use]
    pub fn state(self) -> StateDescriptor {
        let keys = r#"{"type":"integer","format":"int64"}"#;
        StateDescriptor {
            id: self.state_id(),
            name: format!("timers:{}", self.name()),
            kind: StateKind::MapEntries,
            schema: format!(r#"{{"type":"object","propertyNames":{keys},"additionalProperties":{{"type":"null"}}}}"#),
            version: 1,
            ttl: None,
        }
    }
}

/// The entry key of a timer at `millis` since 1970.
#[must_use]
pub fn timer_entry_key(millis: i64) -> [u8; 8] {
    (millis.cast_unsigned() ^ SIGN).to_be_bytes()
}

/// The time of a timer, from its entry key; `None` for what is none.
#[must_use]
pub fn timer_time(entry_key: &[u8]) -> Option<i64> {
    let bytes = <[u8; 8]>::try_from(entry_key).ok()?;
    Some((u64::from_be_bytes(bytes) ^ SIGN).cast_signed())
}

impl Origins {
    /// Appends a row that is a timer which fired. What it causes has the same origin.
    pub fn push_timer(&mut self, clock: TimerClock, millis: i64) {
        let split = SplitIndex(u32::from(clock == TimerClock::ProcessingTime));
        self.push(SourceId::TIMERS, split, Position(millis.cast_unsigned() ^ SIGN));
    }
}

/// The timer that an origin is; `None` for one that is a record.
#[must_use]
pub fn timer_of_origin((source, split, position): (SourceId, SplitIndex, Position)) -> Option<(TimerClock, i64)> {
    let clock = if split == SplitIndex(0) { TimerClock::EventTime } else { TimerClock::ProcessingTime };
    (source == SourceId::TIMERS).then_some((clock, (position.0 ^ SIGN).cast_signed()))
}
