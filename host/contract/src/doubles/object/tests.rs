use std::time::Duration;

use super::*;
use crate::compliance;
use crate::doubles::ManualClock;

fn piece(text: &str) -> Arc<Vec<u8>> {
    Arc::new(text.as_bytes().to_vec())
}

#[test]
fn the_double_keeps_every_promise() {
    compliance::object::check(&|| Box::new(MemorySnapshots::new()));
}

#[test]
fn a_put_whose_answer_is_lost_is_there() {
    let store = MemorySnapshots::new();
    store.inject(StoreCall::Put, Fault::AnswerLost, 1);
    store.inject(StoreCall::Put, Fault::NoAnswer, 1);
    assert_eq!(store.put("state/a", &[piece("x")]).unwrap_err().retry(), Retry::Backoff);
    assert!(store.put("state/b", &[piece("x")]).is_err());
    assert_eq!(store.names(), ["state/a"]);
    assert!(store.put("state/a", &[piece("x")]).is_ok());
}

#[test]
fn a_full_medium_refuses_until_there_is_room() {
    let store = MemorySnapshots::new();
    store.put("state/a", &[piece("0123456789")]).unwrap();
    store.limit_capacity(Some(50));
    assert_eq!(store.put("state/b", &[piece("0123456789")]).unwrap_err().retry(), Retry::Backoff);
    store.delete("state/a").unwrap();
    assert!(store.put("state/b", &[piece("0123456789")]).is_ok());
}

#[test]
fn damage_of_any_kind_is_noticed_before_a_byte_is_handed_out() {
    let store = MemorySnapshots::new();
    let one = store.put("state/1", &[piece("first"), piece("second")]).unwrap();
    let two = store.put("state/2", &[piece("third"), piece("fourth")]).unwrap();
    store.swap("state/1", "state/2");
    assert_eq!(store.get(&one).unwrap_err().retry(), Retry::No);
    store.swap("state/1", "state/2");
    assert!(store.get(&one).is_ok());
    store.damage("state/1", |bytes| bytes[25] ^= 1);
    store.damage("state/2", |bytes| bytes.truncate(20));
    assert!(store.get(&one).is_err());
    assert!(store.get(&two).is_err());
    store.lose("state/1");
    assert_eq!(store.get(&one).unwrap_err().to_string(), "get object `state/1`: it is not there");
}

#[test]
fn what_was_not_synced_is_gone_after_a_loss_of_power() {
    let store = MemorySnapshots::new();
    store.put("state/a", &[piece("x")]).unwrap();
    store.forget_to_sync(true);
    store.put("state/b", &[piece("x")]).unwrap();
    store.put("state/c", &[piece("x")]).unwrap();
    store.forget_to_sync(false);
    store.put("state/c", &[piece("x")]).unwrap();
    store.lose_power();
    assert_eq!(store.names(), ["state/a", "state/c"]);
}

#[test]
fn objects_carry_the_time_of_the_medium() {
    let clock = Arc::new(ManualClock::new(HostTime(1000)));
    let store = MemorySnapshots::with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
    store.put("state/a", &[piece("x")]).unwrap();
    clock.advance(Duration::from_secs(1));
    store.put("state/b", &[piece("x")]).unwrap();
    let times: Vec<i64> = store.list("").unwrap().iter().map(|it| it.modified.0).collect();
    assert_eq!(times, [1000, 2000]);
}
