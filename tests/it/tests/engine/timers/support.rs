//! A function that closes sessions by timers, and what it should say of the records of a tap.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::doubles::{ClosureFactory, MapBackend, MemorySink};
use contract::{
    Emit, Failure, FailureKind, OutputRecords, ProcessError, RowKind, StateBackend, StateWrites, TimerRequest, Turn,
};
use model::job::KeySpec;
use model::{
    Column, Descriptor, EventTime, OptionalColumn, OutputId, Parallelism, Refresh, SlotIndex, StateDescriptor, StateId,
    TimerClock, Ttl, TtlClock, Values, timer_of_origin,
};
use runtime::{FunctionNode, SinkNode, SourceNode};

use crate::epochs::support::{Drop, Tap, Width, count_state};
use crate::support::{Job, descriptor};

/// A session ends so long after its last record.
pub(crate) const GAP: i64 = 50;

pub(crate) fn told(kind: FailureKind, message: &str) -> Result<(), ProcessError> {
    Err(ProcessError::Function(Failure { kind, row: None, message: message.to_owned() }))
}

/// What the rows of a turn make of the values of one state, and what they send and ask for.
pub(crate) struct Pad {
    /// The value of each slot.
    pub(crate) values: Vec<Option<String>>,
    pub(crate) sent: Vec<(u32, String)>,
    pub(crate) timers: Vec<(TimerClock, u32, i64, bool)>,
}

impl Pad {
    pub(crate) fn load(turn: &mut Turn) -> Result<Self, ProcessError> {
        let keys = Arc::clone(&turn.batch.keys);
        let mut known = OptionalColumn::default();
        let state = turn.state.as_mut().unwrap();
        state.load(StateId(0), &keys, &mut known).map_err(ProcessError::Host)?;
        let text = |value: Option<&[u8]>| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(Self { values: known.iter().map(text).collect(), sent: Vec::new(), timers: Vec::new() })
    }

    pub(crate) fn store(self, turn: &mut Turn) {
        let mut writes = StateWrites { state: StateId(0), ..StateWrites::default() };
        for (slot, value) in (0u32..).zip(&self.values) {
            writes.slots.push(SlotIndex(slot));
            writes.values.push(value.as_deref().map(str::as_bytes));
        }
        turn.staged.writes.push(writes);
        let values = Values::from(self.sent.iter().map(|(_, text)| text).collect::<Column>());
        let rows = self.sent.iter().map(|(row, _)| *row).collect();
        let records = OutputRecords { rows, values, ..OutputRecords::default() };
        turn.staged.emits.push(Emit::Push { output: OutputId(0), records });
        for (clock, slot, at, set) in self.timers {
            turn.staged.timers.push(TimerRequest { clock, set, slots: vec![SlotIndex(slot)], at_millis: vec![at] });
        }
    }
}

/// The timer in a row.
pub(crate) fn timer(turn: &Turn, row: usize) -> (TimerClock, i64) {
    turn.batch.records.origins.get(row).and_then(timer_of_origin).unwrap()
}

pub(crate) fn key_of(turn: &Turn, slot: u32) -> String {
    String::from_utf8_lossy(turn.batch.keys.keys.get(slot as usize)).into_owned()
}

/// What a key that comes once is remembered by, and for how long.
const MORTAL: StateId = StateId(1);
const LIFE: i64 = 60;
/// Timers of such a key, after its record: one sees what is remembered, the other does not.
const LOOKS: [(i64, &str); 2] = [(30, "seen"), (90, "gone")];

fn mortal_state() -> StateDescriptor {
    let ttl = Ttl { millis: LIFE.unsigned_abs(), clock: TtlClock::EventTime, refresh: Refresh::OnWrite };
    StateDescriptor { id: MORTAL, name: "mortal".to_owned(), ttl: Some(ttl), ..count_state() }
}

fn comes_once(key: &str) -> bool {
    key.contains("-once-")
}

/// Says of each session of a key when it ended and how many records it had: `key end count`. What it knows is
/// `last count`. Of a key that comes once it says at two times whether it is remembered.
pub(crate) fn sessions() -> ClosureFactory {
    let states = vec![count_state(), mortal_state()];
    let descriptor = Descriptor { keyed: true, timers: true, states, ..descriptor(&["out"]) };
    ClosureFactory::new(descriptor, |turn| {
        let mut pad = Pad::load(turn)?;
        let keys = Arc::clone(&turn.batch.keys);
        let mut remembered = OptionalColumn::default();
        turn.state.as_mut().unwrap().load(MORTAL, &keys, &mut remembered).map_err(ProcessError::Host)?;
        let mut mortal = StateWrites { state: MORTAL, ..StateWrites::default() };
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            let key = key_of(turn, slot);
            let fired = is_of_timers(turn).then(|| timer(turn, row as usize).1);
            let time = turn.batch.records.timestamps[row as usize].0;
            if comes_once(&key) {
                match fired {
                    Some(at) => {
                        let how = if remembered.get(slot as usize).is_some() { "seen" } else { "gone" };
                        pad.sent.push((row, format!("{key} {at} {how}")));
                    }
                    None => {
                        mortal.slots.push(SlotIndex(slot));
                        mortal.values.push(Some(b"1"));
                        pad.timers.extend(LOOKS.map(|(after, _)| (TimerClock::EventTime, slot, time + after, true)));
                    }
                }
                continue;
            }
            let known = pad.values[slot as usize].take().map(|text| {
                let (last, count) = text.split_once(' ').unwrap();
                (last.parse::<i64>().unwrap(), count.parse::<u64>().unwrap())
            });
            let mut end = |(last, count): (i64, u64)| pad.sent.push((row, format!("{key} {} {count}", last + GAP)));
            if let Some(at) = fired {
                match known {
                    Some((last, count)) if last + GAP == at => end((last, count)),
                    _ => pad.sent.push((row, format!("{key} {at} fired for no session"))),
                }
                continue;
            }
            let mut count = 0;
            if let Some((last, so_far)) = known {
                if time >= last + GAP {
                    end((last, so_far));
                } else {
                    count = so_far;
                }
                pad.timers.push((TimerClock::EventTime, slot, last + GAP, false));
            }
            pad.timers.push((TimerClock::EventTime, slot, time + GAP, true));
            pad.values[slot as usize] = Some(format!("{time} {}", count + 1));
        }
        turn.staged.writes.push(mortal);
        pad.store(turn);
        Ok(())
    })
}

/// Records of keys that belong to one split each, in the order of time, with pauses that end sessions, and with keys
/// that come early and never again.
pub(crate) fn visits(splits: u32, end: u64) -> Tap {
    Tap::new(splits, end, |split, at| {
        let mixed = (at * 31 + u64::from(split) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let key = if at % 10 == 0 { format!("s{split}-once-{at}") } else { format!("s{split}-k{}", mixed % 13) };
        Drop { text: key, time: EventTime(i64::try_from(at * 4 + (at / 40) * 30).unwrap()) }
    })
}

/// What [`sessions`] should say, sorted.
pub(crate) fn sessions_of(tap: &Tap) -> Vec<String> {
    let mut open: BTreeMap<String, (i64, u64)> = BTreeMap::new();
    let mut ended = Vec::new();
    for Drop { text, time } in tap.drops() {
        if comes_once(&text) {
            ended.extend(LOOKS.map(|(after, how)| format!("{text} {} {how}", time.0 + after)));
            continue;
        }
        let session = open.entry(text.clone()).or_insert((time.0, 0));
        if time.0 >= session.0 + GAP {
            ended.push(format!("{text} {} {}", session.0 + GAP, session.1));
            session.1 = 0;
        }
        *session = (time.0, session.1 + 1);
    }
    ended.extend(open.into_iter().map(|(key, (last, count))| format!("{key} {} {count}", last + GAP)));
    ended.sort();
    ended
}

/// Panics with what differs unless `texts` are what [`sessions`] should say of the records of `tap`, each once.
pub(crate) fn assert_sessions(tap: &Tap, mut texts: Vec<String>) {
    texts.sort();
    let mut missing = sessions_of(tap);
    let all = missing.len();
    let mut extra = Vec::new();
    for text in texts {
        match missing.binary_search(&text) {
            Ok(at) => drop(missing.remove(at)),
            Err(_) => extra.push(text),
        }
    }
    let few = |texts: &[String]| texts.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
    assert!(
        missing.is_empty() && extra.is_empty(),
        "of {all} {} are missing: {}; {} are too many: {}",
        missing.len(),
        few(&missing),
        extra.len(),
        few(&extra)
    );
}

/// `tap → sessions → out`.
pub(crate) fn sessions_job(tap: &Tap, sink: &MemorySink, width: Width) -> Job {
    sessions_in(Arc::new(MapBackend), tap, sink, width)
}

/// The same over another state backend.
pub(crate) fn sessions_in(backend: Arc<dyn StateBackend>, tap: &Tap, sink: &MemorySink, width: Width) -> Job {
    Job::new()
        .source_node("tap", tap.clone(), |node: &mut SourceNode| node.parallelism = Parallelism(width.sources))
        .function("sessions", &["tap"], sessions(), |node: &mut FunctionNode| {
            node.key = Some(KeySpec::WholeValue);
            node.parallelism = Parallelism(width.counts);
            node.state = Some(backend);
        })
        .sink_node("out", &["sessions"], sink.clone(), |node: &mut SinkNode| {
            node.parallelism = Parallelism(width.sinks);
        })
}

pub(crate) fn width(sources: u32, counts: u32, sinks: u32) -> Width {
    Width { sources, counts, sinks }
}

/// Whether a turn is made of timers.
pub(crate) fn is_of_timers(turn: &Turn) -> bool {
    turn.batch.kinds.iter().any(|kind| *kind != RowKind::Entry)
}

/// A function that makes of every turn what `handle` does with its pad.
pub(crate) fn padded(
    handle: impl Fn(&mut Pad, &Turn) -> Result<(), ProcessError> + Send + Sync + 'static,
) -> ClosureFactory {
    let descriptor = Descriptor { keyed: true, timers: true, states: vec![count_state()], ..descriptor(&["out"]) };
    ClosureFactory::new(descriptor, move |turn| {
        let mut pad = Pad::load(turn)?;
        handle(&mut pad, turn)?;
        pad.store(turn);
        Ok(())
    })
}
