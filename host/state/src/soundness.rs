//! Checks a table against the invariants that its modules state, entry by entry.

use std::collections::BTreeSet;

use crate::entry::{self, Item, SEGMENT_HEADER};
use crate::log::Place;
use crate::segment::Purpose;
use crate::table::StateLog;

/// What a walk over all segments finds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    used: usize,
    live: usize,
    kept: usize,
    entries: usize,
    payload: usize,
    memory: usize,
}

/// Panics where an invariant does not hold.
pub(crate) fn check(table: &StateLog) {
    let mut counted = Counted::default();
    let mut places = BTreeSet::new();
    for number in 0..table.log.segments.len() {
        check_segment(table, number, &mut counted, &mut places);
    }
    let log = &table.log;
    let kept = Counted {
        used: log.used,
        live: log.live,
        kept: log.kept,
        entries: log.entries,
        payload: log.payload,
        memory: log.memory,
    };
    assert_eq!(kept, counted, "figures kept, figures counted");
    assert_eq!(indexed(table), places, "places with a slot, places of entries that are not dead");
    let stats = table.figures();
    assert_eq!(stats.memory_bytes - stats.index_bytes, counted.memory as u64);
    assert_eq!(stats.dead_bytes, (counted.used - counted.live) as u64);
}

fn check_segment(table: &StateLog, number: usize, counted: &mut Counted, places: &mut BTreeSet<u64>) {
    let segment = &table.log.segments[number];
    let bytes = segment.bytes();
    counted.memory += segment.memory();
    let (mut live, mut kept, mut tombstones, mut mortals) = (0, 0, 0, 0);
    let is_swept = table.cleaning.is_sweeping(number);
    let mut at = SEGMENT_HEADER.len();
    while at < bytes.len() {
        let item = entry::decode(bytes, at).expect("what lies in memory can be decoded");
        if let Item::Entry(head) = item {
            if segment.is_dead(at) {
                assert!(!segment.is_mutable(), "the dead of a running epoch are gaps");
            } else {
                places.insert(Place::new(number, at).0);
                if !head.is_tombstone() {
                    live += head.size();
                    counted.entries += 1;
                    counted.payload += head.payload();
                    mortals += usize::from(table.log.policies.get(head.state).is_some());
                    let known = is_swept || segment.lifetimes.spans(&table.log.policies, &head);
                    assert!(known, "segment {number} does not know the expiry of an entry");
                } else {
                    assert_eq!(segment.purpose, Purpose::Log, "tombstones are not moved out of their epoch");
                    tombstones += 1;
                    kept += if segment.is_mutable() { head.size() } else { 0 };
                }
            }
        }
        at += item.size();
        counted.used += item.size();
    }
    assert_eq!((live, kept, tombstones), (segment.live, segment.kept, segment.tombstones), "segment {number}");
    assert_eq!(mortals, segment.lifetimes.mortals(), "mortals of segment {number}");
    let due = segment.lifetimes.due();
    assert!(table.log.due.iter().zip(due).all(|(all, one)| *all <= one), "segment {number} is due before all");
    counted.live += live;
    counted.kept += kept;
}

/// The places that the indexes lead to.
fn indexed(table: &StateLog) -> BTreeSet<u64> {
    let mut places = BTreeSet::new();
    assert!(table.directories.order_bytes_are_exact());
    for group in &table.groups {
        for index in [&group.values, &group.entries, &group.heads] {
            assert!(index.is_sound(), "{index:?}");
        }
        places.extend(group.values.references());
        let cells: BTreeSet<u32> = group.entries.references().map(|cell| cell as u32).collect();
        let mut in_directories = BTreeSet::new();
        for head in group.heads.references() {
            let found = table.directories.sound_cells(&table.log, head);
            in_directories.extend(found.expect("a directory keeps its invariants"));
        }
        assert_eq!(cells, in_directories, "cells in the index, cells in the directories");
        places.extend(cells.iter().map(|&cell| table.directories.cells.place(cell).0));
    }
    places
}
