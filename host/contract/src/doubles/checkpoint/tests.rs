use super::*;
use crate::compliance;

#[test]
fn the_double_keeps_every_promise() {
    compliance::checkpoint::check(&|| Box::new(MemoryCheckpoints::new()));
}

#[test]
fn a_lost_answer_is_found_by_asking_again() {
    let store = MemoryCheckpoints::new();
    store.lose_answers(1);
    let (number, nonce) = (ObjectNumber(3), Nonce(7));
    assert_eq!(store.create(number, nonce, b"x").unwrap_err().retry(), Retry::Backoff);
    assert_eq!(store.create(number, nonce, b"x").unwrap(), Creation::Created);
    assert_eq!(store.create(number, Nonce(8), b"x").unwrap(), Creation::Taken);
}

#[test]
fn a_call_without_an_answer_has_no_effect() {
    let store = MemoryCheckpoints::new();
    store.inject(StoreCall::Create, Fault::NoAnswer, 2);
    for _ in 0..2 {
        assert!(store.create(ObjectNumber(0), Nonce(1), b"x").is_err());
        assert_eq!(store.read(ObjectNumber(0)).unwrap(), None);
    }
    assert_eq!(store.create(ObjectNumber(0), Nonce(1), b"x").unwrap(), Creation::Created);
}

#[test]
fn a_list_may_leave_out_the_newest() {
    let store = MemoryCheckpoints::new();
    for number in 0..2 {
        assert_eq!(store.create(ObjectNumber(number), Nonce(1), b"x").unwrap(), Creation::Created);
    }
    store.list_without_newest(1);
    assert_eq!(store.list().unwrap(), [ObjectNumber(0)]);
    assert_eq!(store.list().unwrap(), [ObjectNumber(0), ObjectNumber(1)]);
}

#[test]
fn a_rival_takes_the_number_just_before() {
    let store = MemoryCheckpoints::new();
    store.overtake(Nonce(9), b"rival");
    assert_eq!(store.create(ObjectNumber(4), Nonce(1), b"x").unwrap(), Creation::Taken);
    assert_eq!(store.read(ObjectNumber(4)).unwrap().unwrap().body, b"rival");
    assert_eq!(store.create(ObjectNumber(5), Nonce(1), b"x").unwrap(), Creation::Created);
}

#[test]
fn what_was_not_synced_is_gone_after_a_loss_of_power() {
    let store = MemoryCheckpoints::new();
    assert_eq!(store.create(ObjectNumber(0), Nonce(1), b"x").unwrap(), Creation::Created);
    store.forget_to_sync(true);
    assert_eq!(store.create(ObjectNumber(1), Nonce(1), b"x").unwrap(), Creation::Created);
    assert_eq!(store.list().unwrap().len(), 2);
    store.lose_power();
    assert_eq!(store.list().unwrap(), [ObjectNumber(0)]);
}

#[test]
fn a_damaged_object_is_an_error_that_asking_again_does_not_mend() {
    let store = MemoryCheckpoints::new();
    assert_eq!(store.create(ObjectNumber(0), Nonce(1), b"x").unwrap(), Creation::Created);
    store.damage(ObjectNumber(0));
    assert_eq!(store.read(ObjectNumber(0)).unwrap_err().retry(), Retry::No);
    store.lose(ObjectNumber(0));
    assert_eq!(store.read(ObjectNumber(0)).unwrap(), None);
}

#[test]
fn the_hook_sees_every_call_before_it_is_made() {
    let store = MemoryCheckpoints::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    store.before_calls(move |call, name| sink.lock().unwrap().push((call, name.to_owned())));
    assert_eq!(store.create(ObjectNumber(7), Nonce(1), b"x").unwrap(), Creation::Created);
    store.list().unwrap();
    let expected = [(StoreCall::Create, "7".to_owned()), (StoreCall::List, String::new())];
    assert_eq!(*seen.lock().unwrap(), expected);
}
