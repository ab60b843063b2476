//! Measures the state log against a hash map, on a dedup: look up a batch of keys, write the new ones.
//!
//! ```text
//! cargo run --release -p state --example measure -- 10000000            # all, 20 % repeats
//! cargo run --release -p state --example measure -- 10000000 log        # one of: map, log, mortal, image, small
//! ```
//! The keys are 36 bytes, a fifth repeat one of the last 100 000. Making a key and its hash costs time
//! of its own, which is measured alone and taken off. Run each on an idle machine, and more than once.

#![expect(clippy::print_stdout, reason = "printing figures is what this program is for")]

use std::sync::Arc;
use std::time::Instant;

use contract::{KeyedState, SlotKeys, StateScope, StateWrites};
use model::{
    Column, EventTime, HostTime, KeyGroup, KeyGroupRange, OperatorUid, OptionalColumn, Refresh, SlotIndex,
    StateDescriptor, StateId, StateKind, Ttl, TtlClock,
};
use state::{Options, StateLog};

const KEY_LEN: usize = 36;
const BATCH: u64 = 1500;
const WINDOW: u64 = 100_000;

/// A number that looks random (splitmix64).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The key of record `record`: a fifth of the records repeat an earlier one.
fn key(record: u64) -> [u8; KEY_LEN] {
    let repeats = record > 0 && mix(record ^ 77) % 100 < 20;
    let id = if repeats { record - 1 - mix(record) % record.min(WINDOW) } else { record };
    let (high, low) = (mix(id), mix(id ^ 0xabcdef));
    let mut key = *b"xxxxxxxxxxxxxxxx-4a-xxxxxxxxxxxxxxxx";
    let digit = |bits: u64, at: usize| b"0123456789abcdef".get((bits >> (60 - 4 * at)) as usize & 15).copied();
    for at in 0..16 {
        for (place, bits) in [(at, high), (20 + at, low)] {
            if let (Some(byte), Some(digit)) = (key.get_mut(place), digit(bits, at)) {
                *byte = digit;
            }
        }
    }
    key
}

/// The batches of `records` records, as a keyed subtask gets them: distinct keys and their hashes.
fn batches(records: u64) -> impl Iterator<Item = Arc<SlotKeys>> {
    (0..records).step_by(BATCH as usize).map(move |first| {
        let mut slots = SlotKeys::default();
        for record in first..records.min(first + BATCH) {
            let key = key(record);
            slots.hashes.push(protocol::key_group::hash(&key));
            slots.keys.push(&key);
        }
        Arc::new(slots)
    })
}

fn scope(ttl: Option<Ttl>) -> StateScope {
    StateScope {
        operator: OperatorUid::new("dedup").expect("a valid name"),
        key_groups: KeyGroupRange { first: KeyGroup(0), end: KeyGroup(128) },
        key_group_count: 128,
        states: vec![StateDescriptor {
            id: StateId(0),
            name: "seen".to_owned(),
            kind: StateKind::Value,
            schema: String::new(),
            version: 1,
            ttl,
        }],
    }
}

/// Prints one line of figures.
fn report(what: &str, records: u64, nanos: f64, unique: usize, bytes: f64) {
    println!("{what:12} {:6.0} ns per record  {unique} unique  {:6.1} bytes per entry", nanos, bytes / unique as f64);
    if unique as u64 > records {
        println!("{what}: more keys than records");
    }
}

/// Nanoseconds this thread was on a processor, so that others on the machine count less; wall time
/// where that is not known.
fn processor_nanos(start: Instant) -> f64 {
    let known = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = known.as_deref().and_then(|figures| figures.split_whitespace().next()?.parse().ok());
    nanos.unwrap_or_else(|| start.elapsed().as_secs_f64() * 1e9)
}

/// Nanoseconds per record of `work`, less `baseline`.
fn timed<T>(records: u64, baseline: f64, work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let before = processor_nanos(start);
    let result = work();
    ((processor_nanos(start) - before) / records as f64 - baseline, result)
}

/// Resident memory in bytes, 0 where it is not known.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).map_or(0.0, |kib: f64| kib * 1024.0)
}

/// A bare check-and-insert of boxed keys.
fn map(records: u64, baseline: f64) {
    let before = resident();
    let (nanos, map) = timed(records, baseline, || {
        let mut map: hashbrown::HashMap<Box<[u8]>, i64> = hashbrown::HashMap::new();
        for slots in batches(records) {
            for key in slots.keys.iter() {
                if !map.contains_key(key) {
                    map.insert(key.into(), 1);
                }
            }
        }
        map
    });
    report("hash map", records, nanos, map.len(), resident() - before);
}

/// Loads and writes as the runtime does: one load and one apply per batch.
fn log(what: &str, ttl: Option<Ttl>, records: u64, baseline: f64) {
    let before = resident();
    let (start, mut in_load) = (Instant::now(), 0.0);
    let (nanos, mut table) = timed(records, baseline, || {
        let mut table = StateLog::new(scope(ttl), Options::default());
        let mut loaded = OptionalColumn::default();
        for mut slots in batches(records) {
            if ttl.is_some() {
                let slots = Arc::get_mut(&mut slots).expect("nobody else has the batch");
                slots.looks.latest = slots.hashes.iter().map(|_| EventTime(1)).collect();
            }
            loaded.clear();
            let start = Instant::now();
            table.load(StateId(0), &slots, &mut loaded).expect("the state is declared");
            in_load += start.elapsed().as_secs_f64();
            let new = (0u32..).zip(loaded.iter()).filter(|slot| slot.1.is_none()).map(|slot| SlotIndex(slot.0));
            let new: Vec<SlotIndex> = new.collect();
            let values: Column = new.iter().map(|_| [1]).collect();
            let writes = StateWrites {
                state: StateId(0),
                slots: new,
                entry_keys: None,
                values: values.into(),
                written: Vec::new(),
            };
            table.apply(&slots, &[writes], HostTime(1)).expect("the write fits");
        }
        table
    });
    let share = in_load / start.elapsed().as_secs_f64();
    let stats = table.stats();
    let unique = stats.live_entries as usize;
    report(what, records, nanos, unique, stats.memory_bytes as f64);
    println!("             {:6.0} ns of them in load", (nanos + baseline) * share);
    println!("             {:6.1} resident bytes per entry", (resident() - before) / unique as f64);
    println!("             {:6.1} of them index", stats.index_bytes as f64 / unique as f64);

    let start = Instant::now();
    let delta = table.mark();
    let nanos = start.elapsed().as_secs_f64() * 1e9;
    let bytes: usize = delta.iter().map(|segment| segment.len()).sum();
    println!("mark         {:6.2} ms for {} segments, {:.0} MB", nanos / 1e6, delta.len(), bytes as f64 / 1e6);
    drop(table);
    let (nanos, restored) = timed(1, 0.0, || StateLog::restore(scope(ttl), Options::default(), delta));
    let restored = restored.expect("what was marked can be restored").stats().live_entries;
    println!("restore      {:6.2} s for {restored} entries, {:.0} MB/s", nanos / 1e9, bytes as f64 / nanos * 1e3);
}

/// The image of a table of which a tenth died: what the table waits for, and how fast it is made.
fn image(records: u64) {
    let mut table = StateLog::new(scope(None), Options::default());
    for first in [0, records - records / 10] {
        for slots in batches(records).skip((first / BATCH) as usize) {
            let all: Vec<SlotIndex> = (0..slots.keys.len() as u32).map(SlotIndex).collect();
            let skipped = if first == 0 { 1 } else { 9 };
            let all: Vec<SlotIndex> = all.into_iter().step_by(skipped).collect();
            let values: Column = all.iter().map(|_| [1]).collect();
            let writes =
                StateWrites { state: StateId(0), slots: all, entry_keys: None, values: values.into(), written: vec![] };
            table.apply(&slots, &[writes], HostTime(1)).expect("the write fits");
        }
        table.mark();
    }
    let start = Instant::now();
    let image = table.image().expect("nothing was written since the mark");
    let sync = start.elapsed();
    let (nanos, bytes) =
        timed(1, 0.0, || image.map(|segment| segment.map_or(0, |segment| segment.len())).sum::<usize>());
    let live = table.stats().live_bytes as f64 / 1e6;
    println!(
        "image        {:6.3} ms to begin with {live:.0} MB live, {:.0} MB/s",
        sync.as_secs_f64() * 1e3,
        bytes as f64 / nanos * 1e3
    );
}

/// Reads and overwrites a table that fits the caches, over and over.
fn small(records: u64) {
    const KEYS: u64 = 15_000;
    let slots: Vec<Arc<SlotKeys>> = batches(KEYS).collect();
    let mut table = StateLog::new(scope(None), Options::default());
    let (mut loaded, mut written) = (OptionalColumn::default(), 0.0);
    let writes: Vec<StateWrites> = slots
        .iter()
        .map(|slots| {
            let all: Vec<SlotIndex> = (0..slots.keys.len() as u32).map(SlotIndex).collect();
            let values: Column = all.iter().map(|_| [1]).collect();
            StateWrites { state: StateId(0), slots: all, entry_keys: None, values: values.into(), written: Vec::new() }
        })
        .collect();
    let rounds = records.div_ceil(KEYS);
    for (slots, writes) in slots.iter().zip(&writes) {
        table.apply(slots, std::slice::from_ref(writes), HostTime(1)).expect("the write fits");
    }
    let (nanos, ()) = timed(rounds * KEYS, 0.0, || {
        for slots in (0..rounds).flat_map(|_| &slots) {
            loaded.clear();
            table.load(StateId(0), slots, &mut loaded).expect("the state is declared");
        }
    });
    for _ in 0..rounds {
        let (nanos, ()) = timed(KEYS, 0.0, || {
            for (slots, writes) in slots.iter().zip(&writes) {
                table.apply(slots, std::slice::from_ref(writes), HostTime(1)).expect("the write fits");
            }
        });
        written += nanos;
    }
    println!("in cache     {nanos:6.0} ns per key read, {:6.0} ns per key overwritten", written / rounds as f64);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let records = arguments.next().and_then(|records| records.parse().ok()).unwrap_or(1_000_000);
    let which = arguments.next();
    let (baseline, keys) = timed(records, 0.0, || batches(records).map(|slots| slots.keys.len()).sum::<usize>());
    println!("{keys} records of {KEY_LEN}-byte keys, batches of {BATCH}; making and hashing a key: {baseline:.0} ns");
    let asked = |part: &str| which.as_deref().is_none_or(|which| which == part);
    if asked("map") {
        map(records, baseline);
    }
    if asked("log") {
        log("state log", None, records, baseline);
    }
    if asked("mortal") {
        let ttl = Ttl { millis: 86_400_000, clock: TtlClock::EventTime, refresh: Refresh::OnCreate };
        log("with expiry", Some(ttl), records, baseline);
    }
    if asked("image") {
        image(records);
    }
    if asked("small") {
        small(records);
    }
}
