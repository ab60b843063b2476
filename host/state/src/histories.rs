//! Random histories of entries that expire, on the table and on a sorted map beside it.
//!
//! Two maps bound what the table may hold: one purges all it may at every step, one never does. Reads are
//! the same on all three, as long as nobody looks from before what was completed.

use std::sync::Arc;

use contract::compliance::state as suite;
use contract::doubles::MapState;
use contract::{KeyedState, LookTimes, SlotKeys, StateDelta, StatePart, StateScope, StateWrites};
use model::{
    Column, EventTime, HostTime, KeyGroup, KeyGroupRange, OptionalColumn, Refresh, SlotIndex, StateId, Ttl, TtlClock,
};
use proptest::prelude::*;

use crate::{MemoryBackend, Options, StateLog, soundness};

const KEYS: u32 = 10;

/// State, key, entry key, value, and by how much the write is older than the look.
type Write = (StateId, u32, u32, Option<(u8, usize)>, i64);

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Write>),
    Tick(i64),
    Mark,
    Complete,
    Clean(usize),
    Restore,
    Image,
    Rescale,
}

fn writes() -> impl Strategy<Value = Write> {
    let state = prop_oneof![3 => Just(suite::VALUE), 1 => Just(suite::OTHER_VALUE), 3 => Just(suite::MAP)];
    let length = prop_oneof![8 => 0..20usize, 3 => 0..300usize];
    let value = prop::option::weighted(0.7, (any::<u8>(), length));
    (state, 0..KEYS, 0..12u32, value, 0..30i64)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => prop::collection::vec(writes(), 1..20).prop_map(Step::Apply),
        6 => (0..60i64).prop_map(Step::Tick),
        3 => Just(Step::Mark),
        2 => Just(Step::Complete),
        3 => (1..5_000usize).prop_map(Step::Clean),
        1 => Just(Step::Restore),
        1 => Just(Step::Image),
        1 => Just(Step::Rescale),
    ];
    prop::collection::vec(step, 1..60)
}

fn policies() -> impl Strategy<Value = Ttl> {
    let clock = prop_oneof![2 => Just(TtlClock::EventTime), 1 => Just(TtlClock::ProcessingTime)];
    let refresh = prop_oneof![Just(Refresh::OnCreate), Just(Refresh::OnWrite), Just(Refresh::OnRead)];
    (30..200u64, clock, refresh).prop_map(|(millis, clock, refresh)| Ttl { millis, clock, refresh })
}

fn staged(writes: &[Write], now: i64) -> Vec<StateWrites> {
    let set = |writes: &[Write]| {
        let state = writes[0].0;
        let mut values = OptionalColumn::default();
        for write in writes {
            values.push(write.3.map(|(byte, length)| vec![byte; length]).as_deref());
        }
        let entry_keys = (state == suite::MAP).then(|| writes.iter().map(|write| write.2.to_string()).collect());
        // Of some sets the rows are named, of others their slot decides.
        let named = writes.len().is_multiple_of(2);
        let written = writes.iter().map(|write| EventTime(now - write.4)).filter(|_| named).collect();
        let slots = writes.iter().map(|write| SlotIndex(write.1)).collect();
        StateWrites { state, slots, entry_keys, values, written }
    };
    writes.chunk_by(|one, other| one.0 == other.0).map(set).collect()
}

/// A table and the maps that bound it.
struct Trio {
    scope: StateScope,
    backend: MemoryBackend,
    table: StateLog,
    eager: MapState,
    lazy: MapState,
    parts: Vec<StateDelta>,
    now: i64,
    marked: i64,
}

fn read(table: &mut dyn KeyedState, slots: &SlotKeys) -> (Vec<OptionalColumn>, Vec<(Column, Column)>) {
    let mut loaded = Vec::new();
    for state in [suite::VALUE, suite::OTHER_VALUE] {
        let mut values = OptionalColumn::default();
        table.load(state, slots, &mut values).unwrap();
        loaded.push(values);
    }
    let which: Vec<_> = (0..KEYS * 12).map(|row| SlotIndex(row / 12)).collect();
    let entry_keys = (0..KEYS * 12).map(|row| (row % 12).to_string()).collect();
    let mut values = OptionalColumn::default();
    table.load_entries(suite::MAP, slots, &which, &entry_keys, &mut values).unwrap();
    loaded.push(values);
    let scan = |slot| table.scan(suite::MAP, slots, SlotIndex(slot), None, 99).unwrap();
    (loaded, (0..KEYS).map(scan).collect())
}

impl Trio {
    fn new(ttl: Ttl, segment_bytes: usize) -> Self {
        let scope = suite::mortal_scope(Some(ttl));
        let backend = MemoryBackend { options: Options { segment_bytes } };
        let table = StateLog::new(scope.clone(), backend.options);
        let (eager, lazy) = (MapState::new(scope.clone()), MapState::new(scope.clone()));
        Self { scope, backend, table, eager, lazy, parts: Vec::new(), now: 1_000, marked: 1_000 }
    }

    /// The keys of a batch: all look now, the first rows a little earlier.
    fn slots(&self, spread: i64) -> Arc<SlotKeys> {
        let keys = (0..KEYS).map(|key| vec![b'k'; key as usize]).collect();
        let hashes = (0..u64::from(KEYS)).map(|key| (key % 4).wrapping_mul(0x4fff_ffff_0000_0011)).collect();
        let all = |time| vec![EventTime(time); KEYS as usize];
        let looks = LookTimes { earliest: all(self.now - spread), latest: all(self.now), now: HostTime(self.now) };
        Arc::new(SlotKeys { keys, hashes, looks })
    }

    fn each(&mut self, mut act: impl FnMut(&mut dyn KeyedState)) {
        act(&mut self.table);
        act(&mut self.eager);
        act(&mut self.lazy);
        self.eager.maintain(usize::MAX).unwrap();
    }

    fn mark(&mut self) {
        self.parts.push(self.table.snapshot().unwrap());
        self.each(|_| ());
        self.marked = self.now;
    }

    fn image(&mut self) -> StateDelta {
        let image = self.table.image().unwrap();
        // It is made while the cleaner goes on.
        self.table.maintain(2_000).unwrap();
        StateDelta { segments: image.map(Result::unwrap).collect() }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Apply(writes) => {
                let (slots, now) = (self.slots(0), self.now);
                let writes = staged(writes, now);
                self.each(|table| table.apply(&slots, &writes, HostTime(now)).unwrap());
            }
            Step::Tick(millis) => self.now += millis,
            Step::Mark => self.mark(),
            Step::Complete => {
                let watermark = EventTime(self.marked);
                self.each(|table| table.completed(watermark));
            }
            Step::Clean(budget) => {
                self.table.maintain(*budget).unwrap();
            }
            Step::Restore => {
                self.mark();
                let parts = self.parts.iter().flat_map(|delta| delta.segments.clone());
                self.table = StateLog::restore(self.scope.clone(), self.backend.options, parts).unwrap();
            }
            Step::Image => {
                self.mark();
                self.parts = vec![self.image()];
            }
            Step::Rescale => self.rescale(),
        }
        soundness::check(&self.table);
    }

    /// Two owners take over, each makes an image of its half, and one takes over from them.
    fn rescale(&mut self) {
        self.mark();
        let mut halves = Vec::new();
        for (first, end) in [(0, 3), (3, 8)] {
            let key_groups = KeyGroupRange { first: KeyGroup(first), end: KeyGroup(end) };
            let scope = StateScope { key_groups: key_groups.clone(), ..self.scope.clone() };
            let part =
                |delta: &StateDelta| StatePart { key_groups: key_groups.clone(), segments: delta.segments.clone() };
            let parts = self.parts.iter().map(|delta| Ok(part(delta)));
            let mut half = StateLog::restore_parts(scope, self.backend.options, parts).unwrap();
            soundness::check(&half);
            let segments = half.image().unwrap().map(Result::unwrap).collect();
            halves.push(StatePart { key_groups, segments });
        }
        let parts = halves.iter().cloned().map(Ok);
        self.table = StateLog::restore_parts(self.scope.clone(), self.backend.options, parts).unwrap();
        self.parts = halves.into_iter().map(|part| StateDelta { segments: part.segments }).collect();
    }

    fn check(&mut self) {
        let slots = self.slots(0);
        let expected = read(&mut self.lazy, &slots);
        assert_eq!(read(&mut self.table, &slots), expected);
        assert_eq!(read(&mut self.eager, &slots), expected);
        self.each(|_| ());
        let (held, least) = (suite::exported(&mut self.table, 8), suite::exported(&mut self.eager, 8));
        let most = suite::exported(&mut self.lazy, 8);
        assert!(least.iter().all(|entry| held.contains(entry)), "an entry was purged early");
        assert!(held.iter().all(|entry| most.contains(entry)), "an entry came back");
        let visible = |entry: &suite::Visited| least.contains(entry);
        let expired = held.iter().filter(|entry| !visible(entry)).count();
        let stats = self.table.stats();
        assert_eq!(stats.live_entries, held.len() as u64);
        assert!(
            stats.expired_entries <= expired as u64,
            "{} of {expired} are known to have expired",
            stats.expired_entries
        );
        let wide = self.slots(25);
        let which: Vec<_> = (0..KEYS).map(SlotIndex).collect();
        let (mut changes, mut expected) = (Vec::new(), Vec::new());
        self.table.changes(&wide, &which, &mut changes).unwrap();
        self.lazy.changes(&wide, &which, &mut expected).unwrap();
        let mut by_eager = Vec::new();
        self.eager.changes(&wide, &which, &mut by_eager).unwrap();
        // What the table purged changes nothing any more; a late look may find it there or not.
        let time = |change: &Option<EventTime>| change.map_or(i64::MAX, |time| time.0);
        for ((change, expected), by_eager) in changes.iter().zip(&expected).zip(&by_eager) {
            assert!(
                (time(expected)..=time(by_eager)).contains(&time(change)),
                "{change:?}: {expected:?}, {by_eager:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn a_table_expires_as_a_sorted_map_says_through_marks_images_and_restores(
        steps in steps(),
        ttl in policies(),
        segment_bytes in prop_oneof![Just(64usize), Just(512), Just(4096)],
    ) {
        let mut trio = Trio::new(ttl, segment_bytes);
        for step in &steps {
            trio.step(step);
            trio.check();
        }
        // Once everything has expired and a rest has passed, all of it goes.
        trio.now += 1_000;
        trio.mark();
        trio.step(&Step::Complete);
        let (slots, now) = (trio.slots(0), HostTime(trio.now));
        trio.each(|table| table.apply(&slots, &[], now).unwrap());
        while trio.table.maintain(10_000).unwrap() > 0 {}
        soundness::check(&trio.table);
        let (mut left, mut expected) = (suite::exported(&mut trio.table, 8), suite::exported(&mut trio.eager, 8));
        left.sort();
        expected.sort();
        prop_assert_eq!(left, expected);
    }
}
