//! What is promised of entries that expire.

use std::sync::Arc;

use model::{EventTime, HostTime, OptionalColumn, Refresh, SlotIndex, StateDescriptor, Ttl, TtlClock};

use super::{LIST, MAP, OTHER_VALUE, Table, VALUE, entries, restored, slots, values};
use crate::{LookTimes, SlotKeys, StateBackend, StateScope, StateWrites};

/// How long the entries of the tests live.
const LIFE: i64 = 1_000;
/// When they are written.
const START: i64 = 5_000;

const CLOCKS: [TtlClock; 2] = [TtlClock::EventTime, TtlClock::ProcessingTime];
const REFRESHES: [Refresh; 3] = [Refresh::OnCreate, Refresh::OnWrite, Refresh::OnRead];

/// The suite's scope, of which [`VALUE`] and [`MAP`] expire as `ttl` says; the others do not.
#[must_use]
pub fn mortal_scope(ttl: Option<Ttl>) -> StateScope {
    let scope = super::scope();
    let mortal = |state: StateDescriptor| match state.id {
        VALUE | MAP => StateDescriptor { ttl, ..state },
        _ => state,
    };
    StateScope { states: scope.states.into_iter().map(mortal).collect(), ..scope }
}

/// A time to live of so many milliseconds.
#[must_use]
pub fn life(millis: i64, clock: TtlClock, refresh: Refresh) -> Ttl {
    Ttl { millis: u64::try_from(millis).unwrap_or_default(), clock, refresh }
}

/// The slots of a batch whose rows all look at `time`, by either clock.
#[must_use]
pub fn slots_at<K: AsRef<[u8]>>(keys: &[K], time: i64) -> Arc<SlotKeys> {
    slots_between(keys, time, time)
}

/// The slots of a batch whose rows look from `earliest` to `latest`.
fn slots_between<K: AsRef<[u8]>>(keys: &[K], earliest: i64, latest: i64) -> Arc<SlotKeys> {
    let all = |time| vec![EventTime(time); keys.len()];
    let looks = LookTimes { earliest: all(earliest), latest: all(latest), now: HostTime(latest) };
    Arc::new(SlotKeys { looks, ..SlotKeys::clone(&slots(keys)) })
}

fn every_policy() -> impl Iterator<Item = Ttl> {
    CLOCKS.into_iter().flat_map(|clock| REFRESHES.map(|refresh| life(LIFE, clock, refresh)))
}

impl Table {
    fn mortal(backend: &dyn StateBackend, ttl: Ttl) -> Self {
        Self(backend.open(mortal_scope(Some(ttl))).expect("a table opens"))
    }

    /// Writes a value and an entry of a map, seen at `time` by either clock.
    fn write_at(&mut self, key: &str, value: Option<&str>, time: i64) {
        let value = value.map(str::as_bytes);
        let writes = [values(VALUE, &[(0, value)]), entries(MAP, &[(0, b"entry", value)])];
        self.0.apply(&slots_at(&[key], time), &writes, HostTime(time)).expect("the writes fit");
    }

    /// What every read says of a key at `time`; all say the same.
    fn look_at(&mut self, key: &str, time: i64) -> Option<String> {
        let slots = slots_at(&["another key", key], time);
        let which = SlotIndex(1);
        let mut out = OptionalColumn::default();
        self.0.load(VALUE, &slots, &mut out).expect("the state is a value");
        self.0.load_range(VALUE, &slots, which..SlotIndex(2), &mut out).expect("the state is a value");
        let entry_keys = ["entry"].iter().collect();
        self.0.load_entries(MAP, &slots, &[which], &entry_keys, &mut out).expect("the state is a map");
        let (_, scanned) = self.0.scan(MAP, &slots, which, None, 9).expect("the state is a map");
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let found: Vec<_> = out.iter().skip(1).map(|value| value.map(text)).collect();
        let scanned = scanned.iter().next().map(text);
        assert!(found.iter().all(|value| *value == scanned), "reads at {time} say {found:?} and {scanned:?}");
        scanned
    }

    /// Maintains until there is nothing to do.
    fn maintain_all(&mut self) {
        let ends = (0..10_000).any(|_| self.0.maintain(1 << 20).expect("room is reclaimed") == 0);
        assert!(ends, "maintenance comes to an end");
    }
}

pub(super) fn expiry_is_exact(backend: &dyn StateBackend) {
    for ttl in every_policy() {
        let mut table = Table::mortal(backend, ttl);
        table.write_at("key", Some("value"), START);
        for (after, expected) in [(0, true), (LIFE - 1, true), (LIFE, false), (LIFE + 1, false), (-LIFE, true)] {
            let found = table.look_at("key", START + after).is_some();
            assert_eq!(found, expected, "{ttl:?}: {after} ms after the write");
        }
    }
}

pub(super) fn only_the_clock_of_the_state_decides(backend: &dyn StateBackend) {
    for clock in CLOCKS {
        let mut table = Table::mortal(backend, life(LIFE, clock, Refresh::OnWrite));
        table.write_at("key", Some("value"), START);
        let far = START + 100 * LIFE;
        let (event, now) = if clock == TtlClock::EventTime { (START, far) } else { (far, START) };
        let looks = LookTimes { earliest: vec![EventTime(event)], latest: vec![EventTime(event)], now: HostTime(now) };
        let slots = SlotKeys { looks, ..SlotKeys::clone(&slots(&["key"])) };
        assert_eq!(table.load(VALUE, &slots), [Some(b"value".to_vec())], "{clock:?}");
    }
}

pub(super) fn states_without_a_time_to_live_live(backend: &dyn StateBackend) {
    for clock in CLOCKS {
        let mut table = Table::mortal(backend, life(LIFE, clock, Refresh::OnWrite));
        let slots = slots_at(&["key"], START);
        let writes = [values(OTHER_VALUE, &[(0, Some(b"other"))]), entries(LIST, &[(0, &[0; 8], Some(b"item"))])];
        table.0.apply(&slots, &writes, HostTime(START)).expect("the writes fit");
        table.0.completed(EventTime(i64::MAX - 1));
        table.write_at("another", Some("value"), START + 100 * LIFE);
        table.maintain_all();
        assert_eq!(table.load(OTHER_VALUE, &slots_at(&["key"], i64::MAX)), [Some(b"other".to_vec())]);
        let (_, items) = table.0.scan(LIST, &slots_at(&["key"], i64::MAX), SlotIndex(0), None, 9).expect("a list");
        assert_eq!(items.len(), 1);
    }
}

pub(super) fn refresh_is_as_declared(backend: &dyn StateBackend) {
    for ttl in every_policy() {
        let mut table = Table::mortal(backend, ttl);
        table.write_at("key", Some("first"), START);
        table.write_at("key", Some("second"), START + LIFE - 1);
        assert_eq!(table.look_at("key", START + LIFE - 1).as_deref(), Some("second"));
        let lives_on = table.look_at("key", START + LIFE).is_some();
        assert_eq!(lives_on, ttl.refresh != Refresh::OnCreate, "{ttl:?}: after a write at the last moment");
        let until = if lives_on { START + LIFE - 1 + LIFE } else { START + LIFE };
        assert!(table.look_at("key", until - 1).is_some(), "{ttl:?}");
        assert_eq!(table.look_at("key", until), None, "{ttl:?}");
    }
}

pub(super) fn a_write_time_never_falls(backend: &dyn StateBackend) {
    for ttl in every_policy() {
        let mut table = Table::mortal(backend, ttl);
        table.write_at("key", Some("first"), START);
        table.write_at("key", Some("out of order"), START - 500);
        assert_eq!(table.look_at("key", START + LIFE - 1).as_deref(), Some("out of order"), "{ttl:?}");
        assert_eq!(table.look_at("key", START + LIFE), None, "{ttl:?}");
    }
}

pub(super) fn a_write_over_what_expired_makes_a_new_entry(backend: &dyn StateBackend) {
    for ttl in every_policy() {
        for marked in [false, true] {
            let mut table = Table::mortal(backend, ttl);
            table.write_at("key", Some("first"), START);
            if marked {
                table.0.snapshot().expect("a mark");
            }
            table.write_at("key", Some("second"), START + LIFE);
            assert_eq!(table.look_at("key", START + 2 * LIFE - 1).as_deref(), Some("second"), "{ttl:?}");
            assert_eq!(table.look_at("key", START + 2 * LIFE), None, "{ttl:?}");
            table.write_at("key", None, START + LIFE + 1);
            assert_eq!(table.look_at("key", START + LIFE + 2), None, "{ttl:?}");
            table.write_at("key", Some("third"), START + LIFE + 3);
            assert_eq!(table.look_at("key", START + 2 * LIFE + 2).as_deref(), Some("third"), "{ttl:?}");
        }
    }
}

pub(super) fn a_row_names_its_write_time(backend: &dyn StateBackend) {
    let mut table = Table::mortal(backend, life(LIFE, TtlClock::EventTime, Refresh::OnWrite));
    let batch = slots_between(&["a", "b"], START, START + 500);
    let named = |write: StateWrites| StateWrites { written: vec![EventTime(START + 100), EventTime(START)], ..write };
    let both: [(u32, Option<&[u8]>); 2] = [(0, Some(b"v")), (1, Some(b"v"))];
    let mapped = both.map(|(slot, value)| (slot, &b"entry"[..], value));
    let writes = [named(values(VALUE, &both)), named(entries(MAP, &mapped))];
    table.0.apply(&batch, &writes, HostTime(1)).expect("the writes fit");
    for (key, written) in [("a", START + 100), ("b", START)] {
        assert!(table.look_at(key, written + LIFE - 1).is_some(), "{key}");
        assert!(table.look_at(key, written + LIFE).is_none(), "{key}");
    }
    table.0.apply(&batch, &[values(VALUE, &both), entries(MAP, &mapped)], HostTime(1)).expect("the writes fit");
    assert!(table.look_at("b", START + 500 + LIFE - 1).is_some(), "without names it is the latest of the slot");
    assert!(table.look_at("b", START + 500 + LIFE).is_none());
    let short = StateWrites { written: vec![EventTime(START)], ..values(VALUE, &both) };
    assert!(table.0.apply(&batch, &[short], HostTime(1)).is_err(), "two writes, one write time");
}

pub(super) fn changes_are_the_least_time(backend: &dyn StateBackend) {
    let mut table = Table::mortal(backend, life(LIFE, TtlClock::EventTime, Refresh::OnWrite));
    table.write_at("a", Some("value"), START);
    table
        .0
        .apply(&slots_at(&["map"], START + 7), &[entries(MAP, &[(0, b"x", Some(b"v"))])], HostTime(1))
        .expect("fits");
    table.write_at("gone", Some("value"), START);
    table.write_at("gone", None, START);
    let mut change = |key: &str, earliest: i64, latest: i64| {
        let mut out = vec![Some(EventTime(1))];
        let slots = slots_between(&["other", key], earliest, latest);
        table.0.changes(&slots, &[SlotIndex(1)], &mut out).expect("the slot exists");
        assert_eq!((out.len(), out.first()), (2, Some(&Some(EventTime(1)))), "it is appended");
        out.pop().flatten().map(|time| time.0)
    };
    let expiry = START + LIFE;
    assert_eq!(change("a", expiry, expiry), None, "one time sees one thing");
    assert_eq!(change("a", expiry - 10, expiry - 1), None);
    assert_eq!(change("a", expiry - 10, expiry), Some(expiry));
    assert_eq!(change("a", expiry - 1, expiry + 10), Some(expiry));
    assert_eq!(change("a", expiry, expiry + 10), None);
    assert_eq!(change("map", expiry, expiry + 10), Some(expiry + 7));
    assert_eq!(change("gone", expiry - 1, expiry + 10), None, "nothing is there to expire");
    assert_eq!(change("new", START, START + LIFE - 1), None);
    assert_eq!(change("new", START, START + 5 * LIFE), Some(START + LIFE), "what the first row writes expires");
    let mut by_host = Table::mortal(backend, life(LIFE, TtlClock::ProcessingTime, Refresh::OnWrite));
    by_host.write_at("a", Some("value"), START);
    let mut out = Vec::new();
    by_host.0.changes(&slots_between(&["a"], START, expiry + 5), &[SlotIndex(0)], &mut out).expect("the slot exists");
    assert_eq!(out, [None], "the host's clock stands still for a batch");
    assert!(by_host.0.changes(&slots(&["a"]), &[SlotIndex(1)], &mut out).is_err(), "no slot 1");
    assert_eq!(out, [None], "what is refused appends nothing");
}

pub(super) fn nothing_is_purged_early(backend: &dyn StateBackend) {
    for ttl in every_policy() {
        for marked in [false, true] {
            let mut table = Table::mortal(backend, ttl);
            table.write_at("key", Some("value"), START);
            if marked {
                table.0.snapshot().expect("a mark");
            }
            table.0.completed(EventTime(START + LIFE - 1));
            table.maintain_all();
            assert_eq!(table.look_at("key", START + LIFE - 1).as_deref(), Some("value"), "{ttl:?}");
            assert_eq!(table.0.stats().expired_entries, 0, "{ttl:?}");
            assert_eq!(table.look_at("key", START + LIFE), None, "it has expired and is there");
            if ttl.clock == TtlClock::EventTime {
                table.maintain_all();
                assert!(table.look_at("key", START).is_some(), "{ttl:?}: a look from before sees it still");
            }
        }
    }
}

pub(super) fn what_nobody_can_see_is_purged(backend: &dyn StateBackend) {
    const COUNT: i64 = 500;
    for ttl in every_policy() {
        for marked in [false, true] {
            let mut table = Table::mortal(backend, ttl);
            for nth in 0..COUNT {
                table.write_at(&format!("key {nth}"), Some("value"), START + nth);
            }
            if marked {
                table.0.snapshot().expect("a mark");
            }
            let all_expired = START + COUNT + LIFE;
            table.0.completed(EventTime(all_expired));
            table.write_at("last", Some("value"), all_expired);
            table.maintain_all();
            let stats = table.0.stats();
            assert_eq!((stats.live_entries, stats.expired_entries), (2, 0), "{ttl:?}: only the last is left");
            assert!(table.look_at("last", all_expired).is_some());
            assert_eq!(table.look_at("key 7", START + LIFE), None, "{ttl:?}: it is not there for a late look");
        }
    }
}

pub(super) fn what_was_purged_does_not_come_back(backend: &dyn StateBackend) {
    let ttl = life(LIFE, TtlClock::EventTime, Refresh::OnWrite);
    let mut table = Table::mortal(backend, ttl);
    for key in ["purged", "written over", "deleted again", "deleted"] {
        table.write_at(key, Some("old"), START);
    }
    let mut deltas = vec![table.0.snapshot().expect("a mark")];
    table.0.completed(EventTime(START + LIFE));
    table.maintain_all();
    let later = START + LIFE + 1;
    table.write_at("written over", Some("new"), later);
    table.write_at("deleted again", Some("new"), later);
    table.write_at("deleted again", None, later);
    table.write_at("deleted", None, later);
    deltas.push(table.0.snapshot().expect("a mark"));

    let scope = mortal_scope(Some(ttl));
    let mut same = Table(restored(backend, scope.clone(), &deltas));
    for (key, expected) in [("purged", None), ("written over", Some("new")), ("deleted", None)] {
        assert_eq!(same.look_at(key, later).as_deref(), expected, "{key}");
    }
    same.0.completed(EventTime(START + LIFE));
    same.maintain_all();
    assert_eq!(same.0.stats().live_entries, 2, "the written one, as value and entry");

    // Under a longer time to live only what nobody deleted or wrote over is seen again.
    let longer = mortal_scope(Some(Ttl { millis: 1 << 40, ..ttl }));
    let mut longer = Table(restored(backend, longer, &deltas));
    assert_eq!(longer.look_at("written over", later).as_deref(), Some("new"));
    assert_eq!(longer.look_at("deleted again", later), None);
    assert_eq!(longer.look_at("deleted", later), None);
}

pub(super) fn a_policy_may_change_over_what_is_there(backend: &dyn StateBackend) {
    for clock in CLOCKS {
        let written_under = |ttl: Option<Ttl>| {
            let mut table = Table(backend.open(mortal_scope(ttl)).expect("a table opens"));
            table.write_at("key", Some("value"), START);
            table.0.snapshot().expect("a mark")
        };
        let policy = |millis| Some(life(millis, clock, Refresh::OnWrite));
        for (before, after, lives) in [
            (policy(LIFE), policy(10), 10),
            (policy(LIFE), policy(7 * LIFE), 7 * LIFE),
            (None, policy(LIFE), LIFE),
            (policy(LIFE), None, i64::MAX - START),
        ] {
            let delta = written_under(before);
            let mut table = Table(restored(backend, mortal_scope(after), &[delta]));
            assert!(table.look_at("key", START + lives - 1).is_some(), "{before:?} to {after:?}");
            assert_eq!(table.look_at("key", START + lives).is_some(), after.is_none(), "{before:?} to {after:?}");
        }
    }
}

pub(super) fn write_times_are_restored(backend: &dyn StateBackend) {
    for ttl in every_policy() {
        let mut table = Table::mortal(backend, ttl);
        table.write_at("key", Some("value"), START);
        let delta = table.0.snapshot().expect("a mark");
        let segments = table.0.image().expect("an image").map(|segment| segment.expect("a segment")).collect();
        for delta in [delta, crate::StateDelta { segments }] {
            let mut again = Table(restored(backend, mortal_scope(Some(ttl)), &[delta]));
            assert!(again.look_at("key", START + LIFE - 1).is_some(), "{ttl:?}");
            assert_eq!(again.look_at("key", START + LIFE), None, "{ttl:?}");
            again.write_at("key", Some("value"), START + 10);
            let refreshed = ttl.refresh != Refresh::OnCreate;
            assert_eq!(again.look_at("key", START + LIFE).is_some(), refreshed, "{ttl:?}");
        }
    }
}
