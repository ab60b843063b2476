//! What every [`Source`] promises, checked on one that comes to an end.

use std::collections::BTreeMap;

use model::{Blame, Position, Retry, SourceId, SplitIndex};

use crate::{Error, Polled, Source, SourceReader, SplitAssignment};

/// A source that stays idle for so many polls in a row is taken to be stuck.
const MOST_IDLE_POLLS: usize = 100_000;

/// After this many polls resumption is no longer tried after each.
const RESUMPTIONS: usize = 24;

/// Where a reader stood in each split, and what it said the split is.
type Stood = BTreeMap<SplitIndex, (Position, Vec<u8>)>;

/// What stands in a split: a record with its value, or something rejected, by position.
type Contents = BTreeMap<SplitIndex, Vec<(Position, Option<Vec<u8>>)>>;

/// Runs every promise on a finite source. `make` gives a source over the same records each time.
///
/// # Panics
/// When a promise is broken.
pub fn check(make: &dyn Fn() -> Box<dyn Source>) {
    let whole = read(&mut *open(&*make(), &Stood::new()), 4096, 1 << 18, |_| ());
    splits_are_stable(make);
    positions_rise(&whole);
    for (max_rows, max_bytes) in [(1, 0), (1, 1), (3, 64), (4096, 64), (4096, 1000), (7, 1 << 18)] {
        let again = read(&mut *open(&*make(), &Stood::new()), max_rows, max_bytes, |_| ());
        assert!(again == whole, "batches of {max_rows} rows and {max_bytes} bytes bring other records");
    }
    a_reader_resumes_where_another_stood(make, &whole);
    the_end_is_the_end(make);
}

/// Checks that a source which is another, though its splits have the same names, is refused where reading
/// would resume. `make` gives the source, `make_other` the other.
///
/// # Panics
/// When it is opened.
pub fn check_another_is_refused(make: &dyn Fn() -> Box<dyn Source>, make_other: &dyn Fn() -> Box<dyn Source>) {
    let source = make();
    let mut reader = open(&*source, &Stood::new());
    read(&mut *reader, 1, 1 << 18, |_| ());
    let stood = stood(&*reader);
    let Err(refused) = try_open(&*make_other(), &stood) else { panic!("another source is read on at {stood:?}") };
    assert_eq!(refused.retry(), Retry::No, "{refused}: opening it again does not help");
    assert_ne!(refused.blame(), Blame::Guest, "{refused}");
}

/// Checks a source that grows after it was read to its end: what came is delivered once, by the reader that
/// stood there or by one that resumes. `grow` makes it grow, by at least one record in an old split.
///
/// # Panics
/// When something is missing or doubled.
pub fn check_growing(make: &dyn Fn() -> Box<dyn Source>, grow: &dyn Fn()) {
    let source = make();
    let mut reader = open(&*source, &Stood::new());
    let mut seen = read(&mut *reader, 3, 1 << 18, |_| ());
    let stood_at_end = stood(&*reader);
    grow();
    let whole = read(&mut *open(&*make(), &Stood::new()), 4096, 1 << 18, |_| ());
    let mut by_resumed = seen.clone();
    append(&mut by_resumed, read(&mut *open(&*make(), &stood_at_end), 3, 1 << 18, |_| ()));
    assert!(by_resumed == whole, "a reader that resumes brings {by_resumed:?} in all, expected {whole:?}");
    append(&mut seen, read(&mut *reader, 3, 1 << 18, |_| ()));
    append(&mut seen, read(&mut *open(&*make(), &stood(&*reader)), 3, 1 << 18, |_| ()));
    assert!(seen == whole, "the reader that stood there and one that resumes bring {seen:?}, expected {whole:?}");
}

fn append(contents: &mut Contents, more: Contents) {
    for (split, items) in more {
        contents.entry(split).or_default().extend(items);
    }
}

fn splits_are_stable(make: &dyn Fn() -> Box<dyn Source>) {
    let (one, other) = (make().splits().expect("it has splits"), make().splits().expect("it has splits"));
    assert_eq!(one, other, "splits come in a stable order");
}

fn positions_rise(contents: &Contents) {
    for (split, items) in contents {
        for (one, next) in items.iter().zip(items.iter().skip(1)) {
            assert!(one.0 < next.0, "split {split}: position {} is followed by {}", one.0, next.0);
        }
    }
}

fn a_reader_resumes_where_another_stood(make: &dyn Fn() -> Box<dyn Source>, whole: &Contents) {
    let mut stood = Vec::new();
    let source = make();
    let mut reader = open(&*source, &Stood::new());
    let mut delivered: BTreeMap<SplitIndex, usize> = BTreeMap::new();
    let whole_identities = identities(&*reader);
    read(&mut *reader, 2, 1 << 18, |progress| {
        *delivered.entry(progress.split).or_default() += progress.items;
        if stood.len() < RESUMPTIONS {
            stood.push((progress.positions.clone(), delivered.clone()));
        }
    });
    assert_eq!(identities(&*reader), whole_identities, "what a split is does not depend on how far it was read");
    for (positions, delivered) in stood {
        let positions = with_identities(positions, &whole_identities);
        let rest = read(&mut *open(&*make(), &positions), 4096, 1 << 18, |_| ());
        for (split, items) in whole {
            let expected = items.get(delivered.get(split).copied().unwrap_or(0)..).unwrap_or_default();
            let found = rest.get(split).map_or(&[][..], Vec::as_slice);
            assert!(found == expected, "split {split} resumed at {positions:?} brings other records than the rest");
        }
    }
}

fn the_end_is_the_end(make: &dyn Fn() -> Box<dyn Source>) {
    let source = make();
    let mut reader = open(&*source, &Stood::new());
    read(&mut *reader, 4096, 1 << 18, |_| ());
    let positions = reader.positions();
    for _ in 0..3 {
        let again = reader.poll(4096, 1 << 18).expect("it can be polled after its end");
        assert!(matches!(again, Polled::End), "after its end: {again:?}");
        assert_eq!(reader.positions(), positions, "nothing came, so it stands where it stood");
    }
    let rest = read(&mut *open(&*make(), &stood(&*reader)), 4096, 1 << 18, |_| ());
    assert!(rest.is_empty(), "resumed at the end: {rest:?}");
}

/// What a poll brought.
struct Progress {
    split: SplitIndex,
    items: usize,
    positions: BTreeMap<SplitIndex, Position>,
}

fn identities(reader: &dyn SourceReader) -> BTreeMap<SplitIndex, Vec<u8>> {
    let splits = reader.positions().into_iter().map(|(split, _)| split);
    splits.map(|split| (split, reader.identity(split).expect("it knows its splits"))).collect()
}

fn with_identities(positions: BTreeMap<SplitIndex, Position>, identities: &BTreeMap<SplitIndex, Vec<u8>>) -> Stood {
    let identity = |split: SplitIndex| identities.get(&split).cloned().unwrap_or_default();
    positions.into_iter().map(|(split, position)| (split, (position, identity(split)))).collect()
}

fn stood(reader: &dyn SourceReader) -> Stood {
    with_identities(reader.positions().into_iter().collect(), &identities(reader))
}

fn open(source: &dyn Source, stood: &Stood) -> Box<dyn SourceReader> {
    try_open(source, stood).expect("it opens")
}

fn try_open(source: &dyn Source, stood: &Stood) -> Result<Box<dyn SourceReader>, Error> {
    let splits = source.splits().expect("it has splits").into_iter();
    let assigned = splits.map(|split| SplitAssignment {
        position: stood.get(&split.index).map(|(position, _)| *position),
        identity: stood.get(&split.index).map(|(_, identity)| identity.clone()).unwrap_or_default(),
        split,
    });
    source.open(SourceId(3), assigned.collect())
}

/// Reads to the end and checks every batch.
fn read(
    reader: &mut dyn SourceReader,
    max_rows: usize,
    max_bytes: usize,
    mut progress: impl FnMut(Progress),
) -> Contents {
    let mut contents = Contents::new();
    let mut idle = 0;
    loop {
        let polled = reader.poll(max_rows, max_bytes).expect("it can be read");
        let positions: BTreeMap<_, _> = reader.positions().into_iter().collect();
        match polled {
            Polled::End => return contents,
            Polled::Idle(_) => {
                idle += 1;
                assert!(idle < MOST_IDLE_POLLS, "nothing came in {idle} polls");
            }
            Polled::Rejected(rejected) => {
                contents.entry(rejected.split).or_default().push((rejected.position, None));
                progress(Progress { split: rejected.split, items: 1, positions });
            }
            Polled::Batch(batch) => {
                idle = 0;
                assert!(batch.is_consistent(), "a column has another length than the values");
                assert!(!batch.is_empty(), "a batch has rows: nothing new is `Idle`");
                assert!(batch.len() <= max_rows, "{} rows, at most {max_rows} asked for", batch.len());
                let bytes = batch.values.total_bytes();
                assert!(bytes <= max_bytes || batch.len() == 1, "{bytes} bytes in {} rows", batch.len());
                let mut by_split: BTreeMap<SplitIndex, usize> = BTreeMap::new();
                for row in 0..batch.len() {
                    let (source, split, position) = batch.origins.get(row).expect("every row has an origin");
                    assert_eq!(source, SourceId(3), "the source is the one it was opened as");
                    let value = batch.values.get(row).unwrap_or_default().to_vec();
                    contents.entry(split).or_default().push((position, Some(value)));
                    *by_split.entry(split).or_default() += 1;
                }
                for (split, items) in by_split {
                    progress(Progress { split, items, positions: positions.clone() });
                }
            }
        }
    }
}
