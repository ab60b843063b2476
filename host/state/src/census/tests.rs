use model::{HostTime, Refresh, StateDescriptor, StateId, StateKind, Ttl};
use proptest::prelude::*;

use super::*;
use crate::entry::{self, EntryName};

fn states(millis: u64) -> Vec<StateDescriptor> {
    let state = |id, ttl| StateDescriptor {
        id: StateId(id),
        name: id.to_string(),
        kind: StateKind::Value,
        schema: String::new(),
        version: 1,
        ttl,
    };
    let life = |clock| Some(Ttl { millis, clock, refresh: Refresh::OnWrite });
    vec![state(0, None), state(1, life(TtlClock::EventTime)), state(2, life(TtlClock::ProcessingTime))]
}

fn head(state: u16, written: i64, bytes: usize) -> Head {
    let mut out = Vec::new();
    let name = EntryName { state: StateId(state), hash: 7, key: b"key", entry_key: None };
    entry::append(&mut out, &name, Some(&vec![0; bytes]), 0, HostTime(written));
    Head::at(&out, 0)
}

proptest! {
    #[test]
    fn what_is_held_is_exact_and_what_has_expired_is_never_too_much(
        entries in prop::collection::vec((0..3u16, -5_000..5_000i64, 0..40usize, any::<bool>()), 0..200),
        limits in prop::collection::vec(-6_000..8_000i64, 1..6),
        millis in prop_oneof![Just(1u64), Just(100), Just(1_000), Just(50_000)],
    ) {
        let states = states(millis);
        let mut policies = Policies::new(&states);
        let mut census = Census::new(&states);
        for &(state, written, bytes, _) in &entries {
            census.count(&policies, &head(state, written, bytes), true);
        }
        let mut left = entries.clone();
        left.retain(|&(state, written, bytes, goes)| {
            if goes {
                census.count(&policies, &head(state, written, bytes), false);
            }
            !goes
        });
        prop_assert_eq!(census.held.entries, left.len() as u64);
        prop_assert_eq!(census.held.bytes, left.iter().map(|entry| 3 + entry.2 as u64).sum::<u64>());
        for limit in limits {
            policies.note_now(HostTime(limit));
            let has_expired = |&&(state, written, _, _): &&(u16, i64, usize, bool)| {
                state == 2 && written + millis as i64 <= policies.limit(TtlClock::ProcessingTime)
            };
            let expired = left.iter().filter(has_expired).count() as u64;
            let known = census.expired(&policies);
            prop_assert!(known.entries <= expired, "{} of {} are known", known.entries, expired);
            if millis <= PARTS {
                prop_assert_eq!(known.entries, expired);
            }
            prop_assert_eq!(census.expired_now(&policies), known);
        }
        let (held, expired) = (census.held, census.expired(&policies));
        census.passed(expired);
        prop_assert_eq!(census.held.entries, held.entries - expired.entries);
        prop_assert_eq!(census.expired(&policies), Tally::default());
    }
}

#[test]
fn odd_times_take_bounded_room() {
    let states = states(PARTS);
    let policies = Policies::new(&states);
    let mut census = Census::new(&states);
    let heads: Vec<_> = (0..20_000).map(|nth| head(1, nth * 1_000_000, 1)).collect();
    heads.iter().for_each(|head| census.count(&policies, head, true));
    assert!(census.calendars.iter().all(|calendar| calendar.parts.len() <= MOST_PARTS));
    heads.iter().for_each(|head| census.count(&policies, head, false));
    assert_eq!(census.held, Tally::default());
}

#[test]
fn copies_are_not_counted() {
    let states = states(PARTS);
    let policies = Policies::new(&states);
    let mut census = Census::new(&states);
    census.is_paused = true;
    census.count(&policies, &head(0, 1, 1), true);
    assert_eq!(census.held, Tally::default());
}

#[test]
fn what_was_taken_for_gone_and_comes_to_be_written_over_is_not_taken_twice() {
    let states = states(PARTS);
    let mut policies = Policies::new(&states);
    let mut census = Census::new(&states);
    for written in [0, 0, 5_000] {
        census.count(&policies, &head(2, written, 1), true);
    }
    policies.note_now(HostTime(2_000));
    let expired = census.expired(&policies);
    assert_eq!(expired.entries, 2);
    census.passed(expired);
    census.count(&policies, &head(2, 0, 1), false);
    assert_eq!(census.held, Tally { entries: 1, bytes: 4 });
}
