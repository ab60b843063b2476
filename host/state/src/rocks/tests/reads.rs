//! What a read finds while an entry is on its way: young, sealed, under way, drained, given up, in the base alone.

use contract::compliance::state as suite;
use contract::{KeyedState, SlotKeys};
use model::{EventTime, HostTime, OptionalColumn, Refresh, SlotIndex, TtlClock};

use super::*;

/// A table whose helper works when it is told to.
struct Stepped {
    table: RocksTable,
    _setup: Setup,
}

impl Stepped {
    fn new(scope: StateScope) -> Self {
        let setup = Setup { is_at_once: false, ..Setup::new() };
        Self { table: backend(&setup).table(scope).unwrap(), _setup: setup }
    }

    fn write(&mut self, key: &str, value: Option<&str>) {
        let value = value.map(str::as_bytes);
        let writes = [suite::values(suite::VALUE, &[(0, value)]), suite::entries(suite::MAP, &[(0, b"entry", value)])];
        self.table.apply(&suite::slots(&[key]), &writes, HostTime(1)).unwrap();
    }

    /// What every read says; all say the same.
    fn read(&mut self, key: &str) -> Option<String> {
        self.look(&suite::slots(&[key]))
    }

    fn look(&mut self, slots: &SlotKeys) -> Option<String> {
        let (_, scanned) = self.table.scan(suite::MAP, slots, SlotIndex(0), None, 9).unwrap();
        let mut out = OptionalColumn::default();
        self.table.load(suite::VALUE, slots, &mut out).unwrap();
        let entry_keys = ["entry"].iter().collect();
        self.table.load_entries(suite::MAP, slots, &[SlotIndex(0)], &entry_keys, &mut out).unwrap();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let loaded: Vec<_> = out.iter().map(|value| value.map(text)).collect();
        let scanned = scanned.iter().next().map(text);
        assert!(loaded.iter().all(|value| *value == scanned), "{loaded:?}, and by a scan {scanned:?}");
        scanned
    }

    /// The helper does all it was given.
    fn work(&mut self) {
        while self.table.helper.step() {}
        self.table.tidy().unwrap();
    }

    /// The log gives up all that lies in the base.
    fn give_up(&mut self) {
        while self.table.give_up(usize::MAX) > 0 {}
    }

    /// Everything goes to the base and out of the log.
    fn settle(&mut self) {
        self.table.snapshot().unwrap();
        self.work();
        self.give_up();
        assert_eq!(self.table.young.log.entries, 0, "the base alone holds it");
    }
}

#[test]
fn what_lies_in_the_base_alone_is_read_and_brought_up() {
    let mut table = Stepped::new(suite::scope());
    table.write("key", Some("value"));
    table.settle();
    assert_eq!(table.read("key").as_deref(), Some("value"));
    assert!(table.table.young.log.entries > 0, "what was read last is in the log again");
    assert_eq!(table.read("another"), None);
    assert_eq!(table.table.stats().live_entries, 2, "a copy is no second entry");
}

#[test]
fn a_deletion_hides_the_base_at_every_stage_on_its_way() {
    let mut table = Stepped::new(suite::scope());
    table.write("key", Some("old"));
    table.settle();
    table.write("key", None);
    assert_eq!(table.read("key"), None, "in the running epoch");
    table.table.snapshot().unwrap();
    table.table.maintain(usize::MAX).unwrap();
    assert_eq!(table.read("key"), None, "sealed");
    table.give_up();
    assert_eq!(table.read("key"), None, "under way it is not given up");
    table.work();
    assert_eq!(table.read("key"), None, "drained");
    table.give_up();
    assert_eq!(table.read("key"), None, "in the base alone");
    assert_eq!(table.table.stats().live_entries, 0);
}

#[test]
fn an_entry_deleted_made_again_and_deleted_over_epochs_does_not_come_back() {
    for drains_between in [false, true] {
        let mut table = Stepped::new(suite::scope());
        table.write("key", Some("old"));
        table.settle();
        for (epoch, value) in [None, Some("again"), None, Some("and again"), None].into_iter().enumerate() {
            table.write("key", value);
            assert_eq!(table.read("key").as_deref(), value, "epoch {epoch}");
            table.table.snapshot().unwrap();
            table.table.maintain(usize::MAX).unwrap();
            assert_eq!(table.read("key").as_deref(), value, "after the mark of epoch {epoch}");
            if drains_between {
                table.work();
                table.give_up();
                assert_eq!(table.read("key").as_deref(), value, "drained, epoch {epoch}");
            }
        }
        // Made and deleted within an epoch, over a deletion that is still under way.
        table.write("key", Some("short"));
        table.write("key", None);
        table.settle();
        assert_eq!(table.read("key"), None, "drained between: {drains_between}");
    }
}

#[test]
fn what_is_written_over_while_it_is_under_way_stays_written_over() {
    let mut table = Stepped::new(suite::scope());
    table.write("key", Some("first"));
    table.table.snapshot().unwrap();
    table.write("key", Some("second"));
    table.work();
    assert_eq!(table.read("key").as_deref(), Some("second"));
    table.give_up();
    assert_eq!(table.read("key").as_deref(), Some("second"), "only what is drained is given up");
    table.table.snapshot().unwrap();
    table.write("key", None);
    table.work();
    table.give_up();
    assert_eq!(table.read("key"), None, "the deletion is newer than what was drained");
    table.settle();
    assert_eq!(table.read("key"), None);
}

#[test]
fn an_image_is_of_its_mark_though_later_epochs_are_drained_while_it_is_made() {
    let mut table = Stepped::new(suite::scope());
    for nth in 0..300 {
        table.write(&format!("key {nth}"), Some("old"));
    }
    table.settle();
    table.write("key 7", Some("of the mark"));
    table.write("key 8", None);
    table.table.snapshot().unwrap();
    let mut image = table.table.image().unwrap();
    let first = image.next().unwrap().unwrap();
    for nth in 0..300 {
        table.write(&format!("key {nth}"), Some("later"));
    }
    table.settle();
    let segments = std::iter::once(first).chain(image.map(Result::unwrap)).collect();
    let mut again = suite::restored(&crate::MemoryBackend::default(), suite::scope(), &[StateDelta { segments }]);
    let mut values = OptionalColumn::default();
    let keys: Vec<_> = (0..300).map(|nth| format!("key {nth}")).collect();
    again.load(suite::VALUE, &suite::slots(&keys), &mut values).unwrap();
    for (nth, value) in values.iter().enumerate() {
        let expected = [(7, Some(&b"of the mark"[..])), (8, None)].into_iter().find(|(which, _)| *which == nth);
        assert_eq!(value, expected.map_or(Some(&b"old"[..]), |(_, value)| value), "key {nth}");
    }
}

#[test]
fn an_image_that_nobody_asks_for_ends_and_an_image_past_its_mark_is_refused() {
    let mut table = Stepped::new(suite::scope());
    (0..2_000).for_each(|nth| table.write(&format!("key {nth}"), Some("value")));
    table.settle();
    drop(table.table.image().unwrap());
    table.write("key", Some("value"));
    let refused = table.table.image().err().expect("something was written after the mark");
    assert_eq!(refused.to_string(), crate::Error::NotAtMark.to_string());
}

#[test]
fn a_map_larger_than_the_log_is_scanned_in_order_with_what_changed() {
    const ENTRIES: u32 = 5_000;
    let mut table = Stepped::new(suite::scope());
    let slots = suite::slots(&["key"]);
    let name = |nth: u32| format!("{nth:06}");
    let write = |table: &mut Stepped, nth: u32, value: Option<&[u8]>| {
        table
            .table
            .apply(&slots, &[suite::entries(suite::MAP, &[(0, name(nth).as_bytes(), value)])], HostTime(1))
            .unwrap();
    };
    (0..ENTRIES).for_each(|nth| write(&mut table, nth, Some(b"old")));
    table.settle();
    let mut expected: std::collections::BTreeMap<String, &str> = (0..ENTRIES).map(|nth| (name(nth), "old")).collect();
    for nth in (0..ENTRIES).step_by(7) {
        write(&mut table, nth, None);
        expected.remove(&name(nth));
    }
    for nth in (0..ENTRIES + 50).step_by(5) {
        write(&mut table, nth, Some(b"new"));
        expected.insert(name(nth), "new");
    }
    let mut found = Vec::new();
    while let (keys, values) = table
        .table
        .scan(
            suite::MAP,
            &suite::slots(&["key"]),
            SlotIndex(0),
            found.last().map(|(key, _): &(String, String)| key.as_bytes()),
            512,
        )
        .unwrap()
        && !keys.is_empty()
    {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        found.extend(keys.iter().map(text).zip(values.iter().map(text)));
    }
    let expected: Vec<_> = expected.into_iter().map(|(key, value)| (key, value.to_owned())).collect();
    assert!(found == expected, "{} entries, {} expected", found.len(), expected.len());
}

#[test]
fn what_was_written_once_and_never_touched_again_is_purged_while_nothing_happens() {
    for clock in [TtlClock::EventTime, TtlClock::ProcessingTime] {
        let setup = Setup::new();
        let life = suite::life(1_000, clock, Refresh::OnWrite);
        let mut table = backend(&setup).table(suite::mortal_scope(Some(life))).unwrap();
        let keys: Vec<_> = (0..5_000).map(|nth| format!("key {nth}")).collect();
        let writes: Vec<_> = (0..5_000).map(|slot| (slot, Some(&b"a value of some length"[..]))).collect();
        table.apply(&suite::slots_at(&keys, 1), &[suite::values(suite::VALUE, &writes)], HostTime(1)).unwrap();
        table.snapshot().unwrap();
        let full = table.base.file_bytes();
        assert!(full > 50_000, "{full} bytes in files");
        // Three lives later nobody has looked or written; marks go on.
        table.completed(EventTime(3_001));
        table.time_passed(HostTime(3_001));
        let stats = table.stats();
        assert_eq!((stats.live_entries, stats.expired_entries), (5_000, 5_000), "{clock:?}");
        (0..20).for_each(|_| drop(table.snapshot().unwrap()));
        let stats = table.stats();
        assert_eq!((stats.live_entries, stats.expired_entries), (0, 0), "{clock:?}");
        assert_eq!(table.base.file_bytes(), 0, "{clock:?}");
    }
}

#[test]
fn what_the_checkpoint_still_knows_is_neither_lost_early_nor_seen_again_after_a_roll_back() {
    let life = suite::life(1_000, TtlClock::EventTime, Refresh::OnWrite);
    let setup = Setup::new();
    let backend = backend(&setup);
    let scope = suite::mortal_scope(Some(life));
    let mut table = backend.table(scope.clone()).unwrap();
    let write = |table: &mut RocksTable, key: &str, time: i64| {
        let writes = [suite::values(suite::VALUE, &[(0, Some(b"value"))])];
        table.apply(&suite::slots_at(&[key], time), &writes, HostTime(time)).unwrap();
    };
    write(&mut table, "early", 1);
    write(&mut table, "late", 900);
    let checkpoint = table.snapshot().unwrap();
    // The watermark passes the first expiry and the base is rewritten; then the job goes back to the checkpoint.
    table.completed(EventTime(1_500));
    (0..20).for_each(|_| drop(table.snapshot().unwrap()));
    assert_eq!(table.stats().live_entries, 1);
    drop(table);
    let mut again = suite::restored(&backend, scope, &[checkpoint]);
    let mut look = |key: &str, time: i64| {
        let mut out = OptionalColumn::default();
        again.load(suite::VALUE, &suite::slots_at(&[key], time), &mut out).unwrap();
        out.get(0).is_some()
    };
    assert!(look("early", 1_000) && look("late", 1_899), "before its expiry each is seen");
    assert!(!look("early", 1_001) && !look("late", 1_900), "from it on none is");
}

#[test]
fn entries_in_mind_stay_few_however_much_is_written_and_read() {
    let setup = Setup { young_bytes: 256 << 10, log: Options { segment_bytes: 16 << 10 }, ..Setup::new() };
    let mut table = backend(&setup).table(suite::scope()).unwrap();
    let mut most = 0;
    for epoch in 0..60u32 {
        let keys: Vec<_> = (0..2_000).map(|nth| format!("{:036}", epoch * 1_500 + nth)).collect();
        let slots = suite::slots(&keys);
        let mut out = OptionalColumn::default();
        table.load(suite::VALUE, &slots, &mut out).unwrap();
        let known = out.iter().filter(Option::is_some).count();
        assert_eq!(known, if epoch == 0 { 0 } else { 500 }, "epoch {epoch}");
        let writes: Vec<_> = (0..2_000).map(|slot| (slot, Some(&b"1"[..]))).collect();
        table.apply(&slots, &[suite::values(suite::VALUE, &writes)], HostTime(1)).unwrap();
        table.maintain(usize::MAX).unwrap();
        table.snapshot().unwrap();
        table.maintain(usize::MAX).unwrap();
        most = most.max(table.young.log.memory);
    }
    assert_eq!(table.stats().live_entries, 60 * 1_500 + 500);
    assert!(most < 600 << 10, "the log took {most} bytes at most");
    assert!(table.base.file_bytes() > 1 << 20);
}
