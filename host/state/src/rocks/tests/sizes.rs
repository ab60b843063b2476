//! What grows with what is held must not grow with what ever was.

use contract::KeyedState;
use contract::compliance::state as suite;
use model::{HostTime, OptionalColumn, Refresh, TtlClock};

use super::*;

#[test]
fn new_keys_for_ever_that_compactions_purge_by_themselves_leave_neither_names_nor_figures() {
    const EACH: u64 = 500;
    let setup = Setup::new();
    let life = suite::life(1_000, TtlClock::ProcessingTime, Refresh::OnWrite);
    let mut table = backend(&setup).table(suite::mortal_scope(Some(life))).unwrap();
    // No pass ever begins.
    table.bounds.purge_percent = u8::MAX;
    table.bounds.least_names = 4 * EACH;
    let (mut most_names, mut most_held) = (0, 0);
    for epoch in 0..120u64 {
        let now = HostTime(1 + 250 * epoch as i64);
        let keys: Vec<_> = (0..EACH).map(|nth| format!("{:036}", epoch * EACH + nth)).collect();
        let writes: Vec<_> = (0..EACH as u32).map(|slot| (slot, Some(&b"value"[..]))).collect();
        table.apply(&suite::slots_at(&keys, now.0), &[suite::values(suite::VALUE, &writes)], now).unwrap();
        table.time_passed(now);
        table.snapshot().unwrap();
        table.base.settle();
        let stats = table.stats();
        most_held = most_held.max(stats.live_entries);
        most_names = most_names.max(table.filter.names());
        assert!(stats.live_entries >= 4 * EACH || epoch < 4, "what lives is held: {stats:?}");
        assert!(stats.live_bytes >= stats.live_entries * 41, "{stats:?}");
    }
    assert!(most_held < 40 * EACH, "{most_held} entries were held of {}", 120 * EACH);
    assert!(most_names < 80 * EACH, "the filter had {most_names} names of {}", 120 * EACH);
}

#[test]
fn a_log_of_large_values_stays_below_its_bound() {
    const KEYS: usize = 1_024;
    let setup = Setup { young_bytes: 4 << 20, log: Options { segment_bytes: 1 << 20 }, ..Setup::new() };
    let mut table = backend(&setup).table(suite::scope()).unwrap();
    let value = vec![7; 64 << 10];
    let keys: Vec<_> = (0..KEYS).map(|nth| format!("{nth:036}")).collect();
    for keys in keys.chunks(64) {
        let writes: Vec<_> = (0..64).map(|slot| (slot, Some(&value[..]))).collect();
        table.apply(&suite::slots(keys), &[suite::values(suite::VALUE, &writes)], HostTime(1)).unwrap();
        table.snapshot().unwrap();
    }
    let mut most = 0;
    for keys in keys.chunks(64).cycle().take(48) {
        let mut out = OptionalColumn::default();
        table.load(suite::VALUE, &suite::slots(keys), &mut out).unwrap();
        assert!(out.iter().all(|found| found == Some(&value[..])));
        most = most.max(table.young.log.memory);
    }
    assert!(most < 16 << 20, "the log took {most} bytes");
}
