//! The timers of a keyed function: which are pending, when they fire, and how they are kept.
//!
//! A timer is an entry of keyed state ([`TimerClock::state`]); this is the order in time over those entries, in memory,
//! made anew from them when state is restored. What a turn asks for becomes state writes of that turn, and so does the
//! end of the timers that the turn is made of: one call applies it all, or nothing.
//!
//! # Invariants
//! 1. What is pending here is what the state holds.
//! 2. Timers fire between batches: the event-time ones that are due before the watermark goes on, and before any record
//!    that came after it. A barrier finds none that is due.
//! 3. A timer that cannot be handled meets `on_error` as a record does, and is gone.
//! 4. Where state expires by event time, processing-time timers wait until something is known of event time: before
//!    that there is no time at which they could look.

use std::sync::Arc;
use std::time::Duration;

use contract::{Error, Failure, FailureKind, KeyedState, LookTimes, RowKind, SlotKeys, StateWrites, TimerRequest};
use model::{
    Column, EventTime, InputId, OptionalColumn, Origins, RecordBatch, Routing, SlotIndex, StateId, TIMER_VALUE,
    TimerClock, Values, timer_entry_key, timer_of_origin, timer_time,
};
use protocol::key_group;
use protocol::timers::Timers;

use super::context::{Context, Flow};
use super::function::{FunctionOperator, Rows};

/// The longest wait for a timer before the clock is looked at again: it may be set meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct TimerTable {
    event_time: Timers,
    processing_time: Timers,
}

/// What a turn did to timers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) set: usize,
    pub(super) fired: usize,
}

impl TimerTable {
    /// The timers that `state` holds.
    pub(crate) fn restored(state: &mut dyn KeyedState) -> Result<Self, Error> {
        let mut table = Self::default();
        state.visit_states(&TimerClock::ALL.map(TimerClock::state_id), &mut |entry| {
            if let (Some(clock), Some(at)) = (TimerClock::of_state(entry.state), entry.entry_key.and_then(timer_time)) {
                table.of(clock).set(entry.key, at);
            }
            Ok(())
        })?;
        Ok(table)
    }

    pub(crate) fn len(&self) -> usize {
        self.event_time.len() + self.processing_time.len()
    }

    fn of(&mut self, clock: TimerClock) -> &mut Timers {
        match clock {
            TimerClock::EventTime => &mut self.event_time,
            TimerClock::ProcessingTime => &mut self.processing_time,
        }
    }

    /// Takes over what a turn did: `fired` are the timers that it was made of, by slot. Their end and what it asked for
    /// are added to its writes.
    pub(super) fn take(
        &mut self,
        keys: &SlotKeys,
        fired: &[(TimerClock, i64)],
        requests: &mut Vec<TimerRequest>,
        writes: &mut Vec<StateWrites>,
    ) -> Done {
        let mut done = Done { set: 0, fired: fired.len() };
        let mut kept = TimerClock::ALL.map(KeptTimers::new);
        let mut keep = |clock: TimerClock, slot, at, set| {
            if let Some(kept) = kept.iter_mut().find(|kept| kept.state == clock.state_id()) {
                kept.push(slot, at, set);
            }
        };
        for (slot, &(clock, at)) in (0u32..).zip(fired) {
            self.of(clock).remove(keys.keys.get(slot as usize), at);
            keep(clock, SlotIndex(slot), at, false);
        }
        for TimerRequest { clock, set, slots, at_millis } in requests.drain(..) {
            for (&slot, &at) in slots.iter().zip(&at_millis) {
                let key = keys.keys.get(slot.0 as usize);
                let by = fired.get(slot.0 as usize).filter(|(by, _)| *by == clock);
                let timers = self.of(clock);
                let changed = match (set, by) {
                    (false, _) => timers.remove(key, at),
                    (true, None) => timers.set(key, at),
                    (true, Some((_, by))) => timers.follow(key, at, *by),
                };
                if changed {
                    done.set += usize::from(set);
                    keep(clock, slot, at, set);
                }
            }
        }
        writes.extend(kept.into_iter().filter_map(KeptTimers::writes));
        done
    }

    /// The next timers that are due, as rows that look at state at their time, or at `now` of event time.
    fn due(&self, clock: TimerClock, most: usize, now: EventTime) -> RecordBatch {
        let timers = match clock {
            TimerClock::EventTime => &self.event_time,
            TimerClock::ProcessingTime => &self.processing_time,
        };
        let (mut values, mut record_keys) = (OptionalColumn::default(), OptionalColumn::default());
        let (mut origins, mut timestamps, mut routing) = (Origins::default(), Vec::new(), Routing::default());
        for (at, key) in timers.due(most) {
            values.push(None);
            record_keys.push(Some(key));
            origins.push_timer(clock, at);
            timestamps.push(if clock == TimerClock::EventTime { EventTime(at) } else { now });
            routing.hashes.push(key_group::hash(key));
            routing.keys.push(key);
        }
        RecordBatch {
            values: Values::from(values),
            record_keys: Some(record_keys),
            timestamps,
            origins,
            routing: Some(routing),
            ..RecordBatch::default()
        }
    }
}

/// Changes to the state that holds the timers of a clock.
struct KeptTimers {
    state: StateId,
    slots: Vec<SlotIndex>,
    entry_keys: Column,
    values: OptionalColumn,
}

impl KeptTimers {
    fn new(clock: TimerClock) -> Self {
        let (entry_keys, values) = (Column::default(), OptionalColumn::default());
        Self { state: clock.state_id(), slots: Vec::new(), entry_keys, values }
    }

    fn push(&mut self, slot: SlotIndex, at: i64, set: bool) {
        self.slots.push(slot);
        self.entry_keys.push(&timer_entry_key(at));
        self.values.push(set.then_some(TIMER_VALUE));
    }

    fn writes(self) -> Option<StateWrites> {
        let Self { state, slots, entry_keys, values } = self;
        (!slots.is_empty()).then(|| StateWrites {
            state,
            slots,
            entry_keys: Some(entry_keys),
            values,
            written: Vec::new(),
        })
    }
}

/// The timers that the rows of a turn are; none for records.
pub(super) fn fired(rows: Rows, origins: &Origins) -> Vec<(TimerClock, i64)> {
    if rows.kind == RowKind::Entry {
        return Vec::new();
    }
    (0..origins.len()).filter_map(|row| origins.get(row).and_then(timer_of_origin)).collect()
}

/// Whether what a turn asks for can be done.
pub(super) fn check(requests: &[TimerRequest], sets_timers: bool, slots: usize) -> Result<(), Failure> {
    let broken = |message: String| Err(Failure { kind: FailureKind::Contract, row: None, message });
    for request in requests {
        if !sets_timers {
            return broken("timers of a function that does not say that it sets them".to_owned());
        }
        if request.slots.len() != request.at_millis.len() {
            return broken(format!("{} times for {} slots of timers", request.at_millis.len(), request.slots.len()));
        }
        if let Some(slot) = request.slots.iter().find(|slot| slot.0 as usize >= slots) {
            return broken(format!("a timer of slot {slot}: the batch has {slots} keys"));
        }
        if request.at_millis.contains(&EventTime::UNKNOWN.0) {
            return broken("a timer at the smallest time, which stands for none".to_owned());
        }
    }
    Ok(())
}

impl FunctionOperator {
    /// Nothing before `watermark` follows.
    pub(crate) fn rise(&mut self, watermark: EventTime) {
        self.watermark = watermark.max(self.watermark);
        if let Some(timers) = &mut self.timers {
            timers.event_time.rise(self.watermark.0);
        }
    }

    /// Says the same to who reads it in other threads.
    pub(crate) fn pass_watermark(&mut self, context: &Context) {
        let mut lanes = self.outputs.iter_mut().flat_map(|port| &mut port.lanes);
        lanes.by_ref().for_each(|lane| lane.watermark(self.watermark, context));
    }

    /// Reads the clock, if a timer waits for it.
    pub(crate) fn look_at_clock(&mut self, context: &Context) {
        if self.timers.as_ref().is_some_and(|timers| !timers.processing_time.is_empty()) {
            self.read_clock(context);
        }
    }

    pub(super) fn read_clock(&mut self, context: &Context) {
        let clock = context.control.clock();
        self.now = self.clock.read(clock.now(), clock.elapsed());
        if let Some(timers) = &mut self.timers {
            timers.processing_time.rise(self.now.0);
        }
    }

    /// Which clock has timers that are due.
    #[inline]
    pub(crate) fn due_clock(&self) -> Option<TimerClock> {
        let timers = self.timers.as_ref()?;
        match () {
            () if timers.event_time.has_due() => Some(TimerClock::EventTime),
            () if self.can_look() && timers.processing_time.has_due() => Some(TimerClock::ProcessingTime),
            () => None,
        }
    }

    /// Fires one batch of the timers that are due by `clock`.
    pub(crate) fn fire(&mut self, clock: TimerClock, context: &mut Context) -> Flow {
        let Some(timers) = &self.timers else { return Ok(()) };
        let batch = timers.due(clock, context.limits.max_rows, self.watermark);
        let kind = match clock {
            TimerClock::EventTime => RowKind::EventTimer,
            TimerClock::ProcessingTime => RowKind::ProcessingTimer,
        };
        self.process_part(Rows { input: InputId(0), kind }, batch, context)?;
        self.learn_completed(context);
        self.after_batch()
    }

    /// Whether there is a time at which a processing-time timer could look at state.
    #[inline]
    fn can_look(&self) -> bool {
        !self.looks_by_event_time || self.watermark != EventTime::UNKNOWN
    }

    /// How long until a timer wants the clock to be looked at; `None` also while none could fire.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        if !self.can_look() {
            return None;
        }
        let next = self.timers.as_ref()?.processing_time.next()?;
        let left = u64::try_from(next.saturating_sub(self.now.0)).unwrap_or(0).max(1);
        Some(LONGEST_WAIT.min(Duration::from_millis(left)))
    }

    /// Ends a timer that is given up on.
    pub(super) fn forget_timer(&mut self, key: &[u8], clock: TimerClock, at: i64) -> Flow {
        let (Some(timers), Some(state)) = (&mut self.timers, &mut self.turn.state) else { return Ok(()) };
        let looks = LookTimes { earliest: vec![EventTime(at)], latest: vec![EventTime(at)], now: self.now };
        let keys = SlotKeys { keys: std::iter::once(key).collect(), hashes: vec![key_group::hash(key)], looks };
        let mut writes = Vec::new();
        timers.take(&keys, &[(clock, at)], &mut Vec::new(), &mut writes);
        self.responsible.metrics.timers_pending.set(timers.len() as u64);
        state.apply(&Arc::new(keys), &writes, self.now).map_err(|error| self.responsible.seam(&error))
    }
}

/// How a timer is called where it is given up on.
pub(super) fn described(clock: TimerClock, at: i64, key: &[u8]) -> String {
    format!("{} timer at {at} of key `{}`", clock.name(), String::from_utf8_lossy(key).escape_debug())
}
