//! Random histories on a table over a base, on one in memory and on a sorted map beside them.
//!
//! The helper does its jobs when a step of the history says so, so that reads and writes meet every state between
//! sealed, under way, drained and given up.

use std::sync::Arc;

use contract::compliance::state as suite;
use contract::doubles::MapState;
use contract::{KeyedState, LookTimes, SlotKeys, StateBackend, StateDelta, StatePart, StateScope, StateWrites};
use model::{
    Column, EventTime, HostTime, KeyGroup, KeyGroupRange, OptionalColumn, Refresh, SlotIndex, StateId, Ttl, TtlClock,
};
use proptest::prelude::*;

use super::{Setup, backend};
use crate::rocks::RocksBackend;
use crate::rocks::table::RocksTable;
use crate::{MemoryBackend, Options, soundness};

const KEYS: u32 = 10;
const ENTRIES: u32 = 30;

/// State, key, entry key, value, and by how much the write is older than the look.
type Write = (StateId, u32, u32, Option<(u8, usize)>, i64);

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Write>),
    Tick(i64),
    /// A mark whose delta is durable, or still owed with the next.
    Mark,
    Complete,
    Maintain(usize),
    /// The helper does a job.
    Work,
    GiveUp(usize),
    Restore,
    /// From an image, on the other backend and back.
    ByTheOther,
    Image,
    Rescale,
    Import,
}

fn writes() -> impl Strategy<Value = Write> {
    let state = prop_oneof![3 => Just(suite::VALUE), 1 => Just(suite::OTHER_VALUE), 3 => Just(suite::MAP)];
    let length = prop_oneof![8 => 0..20usize, 3 => 0..300usize, 1 => 65_530..65_540usize];
    let value = prop::option::weighted(0.6, (any::<u8>(), length));
    (state, 0..KEYS, 0..ENTRIES, value, 0..30i64)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => prop::collection::vec(writes(), 1..20).prop_map(Step::Apply),
        4 => (0..60i64).prop_map(Step::Tick),
        5 => Just(Step::Mark),
        2 => Just(Step::Complete),
        2 => (1..5_000usize).prop_map(Step::Maintain),
        6 => Just(Step::Work),
        4 => (1..3_000usize).prop_map(Step::GiveUp),
        1 => Just(Step::Restore),
        1 => Just(Step::ByTheOther),
        1 => Just(Step::Image),
        1 => Just(Step::Rescale),
        1 => Just(Step::Import),
    ];
    prop::collection::vec(step, 1..50)
}

fn policies() -> impl Strategy<Value = Option<Ttl>> {
    let clock = prop_oneof![2 => Just(TtlClock::EventTime), 1 => Just(TtlClock::ProcessingTime)];
    let refresh = prop_oneof![Just(Refresh::OnCreate), Just(Refresh::OnWrite), Just(Refresh::OnRead)];
    let ttl = (30..200u64, clock, refresh).prop_map(|(millis, clock, refresh)| Ttl { millis, clock, refresh });
    prop::option::weighted(0.7, ttl)
}

fn staged(writes: &[Write], now: i64) -> Vec<StateWrites> {
    let set = |writes: &[Write]| {
        let state = writes[0].0;
        let mut values = OptionalColumn::default();
        for write in writes {
            values.push(write.3.map(|(byte, length)| vec![byte; length]).as_deref());
        }
        let entry_keys = (state == suite::MAP).then(|| writes.iter().map(|write| write.2.to_string()).collect());
        let named = writes.len().is_multiple_of(2);
        let written = writes.iter().map(|write| EventTime(now - write.4)).filter(|_| named).collect();
        let slots = writes.iter().map(|write| SlotIndex(write.1)).collect();
        StateWrites { state, slots, entry_keys, values, written }
    };
    writes.chunk_by(|one, other| one.0 == other.0).map(set).collect()
}

/// What every read says.
fn read(table: &mut dyn KeyedState, slots: &SlotKeys, page: usize) -> (Vec<OptionalColumn>, Vec<(Column, Column)>) {
    let mut loaded = Vec::new();
    let which: Vec<_> = (0..KEYS * ENTRIES).map(|row| SlotIndex(row / ENTRIES)).collect();
    let entry_keys = (0..KEYS * ENTRIES).map(|row| (row % ENTRIES).to_string()).collect();
    // Scans first: they find what nobody brought up.
    let mut scan = |slot| {
        let (mut keys, mut values) = (Column::default(), Column::default());
        loop {
            let after = keys.iter().last().map(<[u8]>::to_vec);
            let found = table.scan(suite::MAP, slots, SlotIndex(slot), after.as_deref(), page).unwrap();
            found.0.iter().for_each(|key| keys.push(key));
            found.1.iter().for_each(|value| values.push(value));
            if found.0.len() < page {
                return (keys, values);
            }
        }
    };
    let scanned = (0..KEYS).map(&mut scan).collect();
    for state in [suite::VALUE, suite::OTHER_VALUE] {
        let mut values = OptionalColumn::default();
        table.load(state, slots, &mut values).unwrap();
        loaded.push(values);
    }
    let mut values = OptionalColumn::default();
    table.load_entries(suite::MAP, slots, &which, &entry_keys, &mut values).unwrap();
    loaded.push(values);
    (loaded, scanned)
}

/// A table over a base, and what it is measured by: one map purges all it may, one nothing.
struct Trio {
    scope: StateScope,
    backend: RocksBackend,
    table: RocksTable,
    eager: MapState,
    lazy: MapState,
    parts: Vec<StateDelta>,
    now: i64,
    marked: i64,
}

impl Trio {
    fn new(setup: &Setup, ttl: Option<Ttl>) -> Self {
        let scope = suite::mortal_scope(ttl);
        let backend = backend(setup);
        let table = backend.table(scope.clone()).unwrap();
        let (eager, lazy) = (MapState::new(scope.clone()), MapState::new(scope.clone()));
        Self { scope, backend, table, eager, lazy, parts: Vec::new(), now: 1_000, marked: 1_000 }
    }

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

    fn restored(&self, parts: &[StateDelta]) -> RocksTable {
        let part = |delta: &StateDelta| {
            let key_groups = KeyGroupRange { first: KeyGroup(0), end: KeyGroup(8) };
            Ok(StatePart { key_groups, segments: delta.segments.clone() })
        };
        let mut table = self.backend.table(self.scope.clone()).unwrap();
        table.restore_parts(&mut parts.iter().map(part)).unwrap();
        table
    }

    fn image(table: &mut dyn KeyedState) -> StateDelta {
        let image = table.image().unwrap();
        table.maintain(2_000).unwrap();
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
            Step::Maintain(budget) => {
                self.table.maintain(*budget).unwrap();
            }
            Step::Work => {
                self.table.helper.step();
                self.table.tidy().unwrap();
            }
            Step::GiveUp(budget) => {
                self.table.give_up(*budget);
            }
            Step::Restore => {
                self.mark();
                self.table = self.restored(&self.parts);
            }
            Step::ByTheOther => {
                self.mark();
                let memory = MemoryBackend { options: self.backend.options.log };
                let mut other = suite::restored(&memory, self.scope.clone(), &self.parts);
                self.parts = vec![Self::image(other.as_mut())];
                self.table = self.restored(&self.parts);
            }
            Step::Image => {
                self.mark();
                self.parts = vec![Self::image(&mut self.table)];
            }
            Step::Rescale => self.rescale(),
            Step::Import => {
                self.mark();
                let mut again = self.backend.table(self.scope.clone()).unwrap();
                self.table.export(&mut |entry| again.import(entry)).unwrap();
                self.table = again;
                self.parts.clear();
                self.mark();
            }
        }
        soundness::check(&self.table.young);
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
            let mut half = self.backend.restore(scope, &mut self.parts.iter().map(|delta| Ok(part(delta)))).unwrap();
            let segments = half.image().unwrap().map(Result::unwrap).collect();
            halves.push(StatePart { key_groups, segments });
        }
        self.table = self.backend.table(self.scope.clone()).unwrap();
        self.table.restore_parts(&mut halves.iter().cloned().map(Ok)).unwrap();
        self.parts = halves.into_iter().map(|part| StateDelta { segments: part.segments }).collect();
    }

    fn check(&mut self, page: usize) {
        let slots = self.slots(0);
        let expected = read(&mut self.lazy, &slots, page);
        assert_eq!(read(&mut self.table, &slots, page), expected);
        assert_eq!(read(&mut self.eager, &slots, page), expected);
        self.each(|_| ());
        let (held, least) = (suite::exported(&mut self.table, 8), suite::exported(&mut self.eager, 8));
        let most = suite::exported(&mut self.lazy, 8);
        assert!(held.is_sorted_by_key(|entry| entry.0), "key groups rise");
        assert!(least.iter().all(|entry| held.contains(entry)), "an entry was purged early");
        assert!(held.iter().all(|entry| most.contains(entry)), "an entry came back");
        if self.table.young.log.policies.is_empty() {
            let (table, model) = (self.table.stats(), self.lazy.stats());
            assert_eq!((table.live_entries, table.live_bytes), (model.live_entries, model.live_bytes));
        }
        let wide = self.slots(25);
        let which: Vec<_> = (0..KEYS).map(SlotIndex).collect();
        let (mut changes, mut expected, mut by_eager) = (Vec::new(), Vec::new(), Vec::new());
        self.table.changes(&wide, &which, &mut changes).unwrap();
        self.lazy.changes(&wide, &which, &mut expected).unwrap();
        self.eager.changes(&wide, &which, &mut by_eager).unwrap();
        let time = |change: &Option<EventTime>| change.map_or(i64::MAX, |time| time.0);
        for ((change, expected), by_eager) in changes.iter().zip(&expected).zip(&by_eager) {
            let bounds = time(expected)..=time(by_eager);
            assert!(bounds.contains(&time(change)), "{change:?}: {expected:?}, {by_eager:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_table_is_what_a_sorted_map_says_whatever_the_helper_has_done(
        steps in steps(),
        ttl in policies(),
        segment_bytes in prop_oneof![Just(64usize), Just(512), Just(4096)],
        young_bytes in prop_oneof![2 => Just(0usize), 1 => Just(4_000), 1 => Just(1 << 20)],
        is_at_once in any::<bool>(),
        page in 1..40usize,
    ) {
        let setup = Setup { log: Options { segment_bytes }, young_bytes, is_at_once, ..Setup::new() };
        let mut trio = Trio::new(&setup, ttl);
        for step in &steps {
            trio.step(step);
            trio.check(page);
        }
        // What was kept is the same once more, on either backend.
        trio.mark();
        let slots = trio.slots(0);
        let expected = read(&mut trio.lazy, &slots, page);
        prop_assert_eq!(read(&mut trio.restored(&trio.parts), &slots, page), expected.clone());
        let memory = MemoryBackend { options: trio.backend.options.log };
        let mut other = suite::restored(&memory, trio.scope.clone(), &trio.parts);
        prop_assert_eq!(read(other.as_mut(), &slots, page), expected);
        // Once everything has expired all of it goes.
        trio.now += 1_000;
        trio.mark();
        trio.step(&Step::Complete);
        let (slots, now) = (trio.slots(0), HostTime(trio.now));
        trio.each(|table| table.apply(&slots, &[], now).unwrap());
        trio.table.settle_all().unwrap();
        for _ in 0..200 {
            let done = trio.table.maintain(10_000).unwrap();
            trio.table.settle_all().unwrap();
            if done == 0 && trio.table.left_over().entries == 0 {
                break;
            }
        }
        let (mut left, mut expected) = (suite::exported(&mut trio.table, 8), suite::exported(&mut trio.eager, 8));
        left.sort();
        expected.sort();
        prop_assert_eq!(left, expected);
    }
}
