use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use contract::doubles::ManualClock;
use contract::{Polled, Source, SourceReader, SplitAssignment, compliance};
use model::job::{GeneratorShape, GeneratorSpec};
use model::{Parallelism, Position, SourceId, SplitIndex};

use super::{GeneratorOptions, GeneratorSource};

fn spec(records: u64) -> GeneratorSpec {
    GeneratorSpec {
        records: Some(records),
        rate_per_second: None,
        seed: 1,
        shape: GeneratorShape::Orders,
        duplicates_share: 0.0,
        keys_count: 1000,
        keys_zipf: 0.0,
        payload_bytes: 0,
    }
}

fn source(spec: GeneratorSpec, parallelism: u32, clock: &Arc<ManualClock>) -> GeneratorSource {
    let clock: Arc<ManualClock> = Arc::clone(clock);
    GeneratorSource::new(GeneratorOptions { spec, parallelism: Parallelism(parallelism) }, clock)
}

fn open(source: &GeneratorSource, position: Option<Position>) -> Result<Box<dyn SourceReader>, contract::Error> {
    let splits =
        source.splits()?.into_iter().map(|split| SplitAssignment { split, position, identity: Vec::new() }).collect();
    source.open(SourceId(0), splits)
}

/// Everything a generator makes, by record number.
fn made(spec: GeneratorSpec, parallelism: u32, max_rows: usize) -> Vec<(Position, String)> {
    let mut reader = open(&source(spec, parallelism, &Arc::new(ManualClock::default())), None).expect("opened");
    let mut records = drain(reader.as_mut(), max_rows, usize::MAX);
    records.sort_unstable();
    records
}

fn drain(reader: &mut dyn SourceReader, max_rows: usize, polls: usize) -> Vec<(Position, String)> {
    let mut records = Vec::new();
    for _ in 0..polls {
        let Polled::Batch(batch) = reader.poll(max_rows, 10_000).expect("made") else { break };
        assert!(batch.is_consistent() && batch.len() <= max_rows);
        for (row, value) in batch.values.iter().enumerate() {
            let (_, _, position) = batch.origins.get(row).expect("an origin");
            records.push((position, String::from_utf8(value.expect("a value").to_vec()).expect("a text")));
        }
    }
    records
}

#[test]
fn records_are_the_same_for_ever() {
    let golden = [
        (GeneratorShape::Orders, 0, include_str!("golden/orders.txt")),
        (GeneratorShape::Clicks, 16, include_str!("golden/clicks.txt")),
        (GeneratorShape::Words, 0, include_str!("golden/words.txt")),
        (GeneratorShape::Raw, 20, include_str!("golden/raw.txt")),
    ];
    for (shape, payload_bytes, expected) in golden {
        let spec = GeneratorSpec { shape, payload_bytes, duplicates_share: 0.1, keys_zipf: 1.1, ..spec(8) };
        let found: String = made(spec, 1, 100).iter().map(|(_, text)| format!("{text}\n")).collect();
        assert_eq!(found, expected, "{shape:?}");
    }
}

#[test]
fn records_depend_neither_on_parallelism_nor_on_batches() {
    let spec = GeneratorSpec { duplicates_share: 0.2, keys_zipf: 0.9, ..spec(1000) };
    let alone = made(spec.clone(), 1, 4096);
    assert_eq!(alone.len(), 1000);
    for (parallelism, max_rows) in [(2, 4096), (3, 7), (7, 1)] {
        assert_eq!(made(spec.clone(), parallelism, max_rows), alone);
    }
}

#[test]
fn a_generator_keeps_the_promises_of_a_source() {
    let clock = Arc::new(ManualClock::default());
    compliance::source::check(&|| Box::new(source(GeneratorSpec { duplicates_share: 0.1, ..spec(2000) }, 3, &clock)));
}

#[test]
fn the_share_of_repeats_is_what_was_asked_for_and_the_rest_is_unique() {
    let spec = GeneratorSpec { duplicates_share: 0.2, ..spec(50_000) };
    let records = made(spec, 1, 4096);
    let unique: BTreeSet<&str> = records.iter().map(|(_, text)| text.as_str()).collect();
    let repeats = 50_000 - unique.len();
    assert!((9_500..10_500).contains(&repeats), "{repeats} repeats");
    let mut seen = BTreeSet::new();
    let first_repeat = records.iter().position(|(_, text)| !seen.insert(text)).expect("a repeat");
    assert!(first_repeat < 50, "repeats come from the start");
}

#[test]
fn orders_and_clicks_are_json_of_about_the_size_that_is_measured_with() {
    for (shape, bytes) in [(GeneratorShape::Orders, 160..180), (GeneratorShape::Clicks, 80..100)] {
        let records = made(GeneratorSpec { shape, ..spec(1000) }, 1, 4096);
        let total: usize = records.iter().map(|(_, text)| text.len()).sum();
        assert!(bytes.contains(&(total / 1000)), "{shape:?}: {} bytes", total / 1000);
        for (_, text) in records {
            assert!(text.starts_with('{') && text.ends_with('}') && text.matches('"').count() % 2 == 0, "{text}");
        }
    }
}

#[test]
fn a_reader_opened_at_a_position_makes_exactly_the_rest() {
    let source = source(spec(500), 1, &Arc::new(ManualClock::default()));
    let mut first = open(&source, None).expect("opened");
    drain(first.as_mut(), 7, 20);
    let (_, position) = first.positions()[0];
    assert_eq!(position, Position(140));
    let mut second = open(&source, Some(position)).expect("opened");
    assert_eq!(drain(first.as_mut(), 50, 100), drain(second.as_mut(), 7, 100));
}

#[test]
fn a_position_of_another_parallelism_is_refused() {
    let source = source(spec(500), 2, &Arc::new(ManualClock::default()));
    let splits = source.splits().expect("splits");
    let assigned = SplitAssignment { split: splits[0].clone(), position: Some(Position(3)), identity: Vec::new() };
    let refused = source.open(SourceId(0), vec![assigned]).err().expect("an odd number is of split 1");
    assert_eq!(refused.to_string(), "E0340 record 3 does not belong to split 0 of 2");
}

#[test]
fn a_rate_is_kept_by_the_clock_and_shared_by_the_splits() {
    let clock = Arc::new(ManualClock::default());
    let spec = GeneratorSpec { rate_per_second: Some(1000.0), ..spec(10_000) };
    let mut reader = open(&source(spec, 2, &clock), None).expect("opened");
    let mut count = 0;
    for _ in 0..10 {
        loop {
            match reader.poll(4096, 1 << 20).expect("made") {
                Polled::Batch(batch) => count += batch.len(),
                Polled::Idle(wait) => {
                    assert!(wait <= Duration::from_millis(2), "{wait:?}");
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        clock.advance(Duration::from_millis(100));
    }
    assert_eq!(count, 902, "one at once in each split, then 100 in each step but the last");
    let splits: Vec<SplitIndex> = reader.positions().into_iter().map(|(split, _)| split).collect();
    assert_eq!(splits, [SplitIndex(0), SplitIndex(1)]);
}

#[test]
fn without_a_count_there_is_no_end() {
    let source = source(GeneratorSpec { records: None, ..spec(0) }, 1, &Arc::new(ManualClock::default()));
    let mut reader = open(&source, Some(Position(1_000_000_000))).expect("opened");
    assert_eq!(drain(reader.as_mut(), 10, 50).len(), 500);
}

#[test]
fn a_generator_of_other_records_is_refused_and_one_of_more_records_goes_on() {
    let clock = Arc::new(ManualClock::default());
    let of = |spec: GeneratorSpec| -> Box<dyn Source> { Box::new(source(spec, 2, &clock)) };
    for other in [
        GeneratorSpec { seed: 2, ..spec(50) },
        GeneratorSpec { shape: GeneratorShape::Raw, ..spec(50) },
        GeneratorSpec { duplicates_share: 0.5, ..spec(50) },
        GeneratorSpec { keys_count: 7, ..spec(50) },
        GeneratorSpec { keys_zipf: 1.0, ..spec(50) },
        GeneratorSpec { payload_bytes: 1, ..spec(50) },
    ] {
        compliance::source::check_another_is_refused(&|| of(spec(50)), &|| of(other.clone()));
    }
    let records = std::cell::Cell::new(50);
    compliance::source::check_growing(&|| of(spec(records.get())), &|| records.set(81));
}

#[test]
fn the_identity_of_a_generator_is_written_as_ever() {
    let source = source(spec(1), 2, &Arc::new(ManualClock::default()));
    let reader = open(&source, None).map(|reader| reader.identity(SplitIndex(1)));
    let identity = String::from_utf8(reader.expect("opened").expect("known")).expect("a text");
    assert_eq!(identity, "v1 shape=orders seed=1 duplicates=0 keys=1000 zipf=0 payload=0 splits=2");
}
