//! What every [`CheckpointStore`] promises.

use std::thread;

use crate::{CheckpointStore, Creation, Nonce, ObjectNumber, StoredObject};

/// Makes an empty store.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn CheckpointStore>;

/// One promise, checked on an empty store.
pub type Promise = fn(&dyn CheckpointStore);

/// Every promise with its name.
pub const PROMISES: &[(&str, Promise)] = &[
    ("what was created is read whole", created_is_read_whole),
    ("a number is created once", a_number_is_created_once),
    ("creating again with the same nonce is no second creation", creating_again_is_idempotent),
    ("a nonce with another body is refused", a_nonce_has_one_body),
    ("numbers are listed rising, with their gaps", numbers_are_listed_rising),
    ("a number below the newest is taken", below_the_newest_is_taken),
    ("what was removed is gone, and its number stays taken", removed_numbers_stay_taken),
    ("the newest object cannot be removed", the_newest_is_not_removed),
    ("of many that create one number, one wins", one_of_many_wins),
];

/// Runs every promise, each on a store of its own.
///
/// # Panics
/// When one is broken.
pub fn check(make: Make<'_>) {
    for (name, promise) in PROMISES {
        let store = make();
        let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| promise(store.as_ref())));
        assert!(kept.is_ok(), "promise broken: {name}");
    }
}

fn create(store: &dyn CheckpointStore, number: u64, nonce: u128, body: &[u8]) -> Creation {
    store.create(ObjectNumber(number), Nonce(nonce), body).expect("a working medium answers")
}

fn read(store: &dyn CheckpointStore, number: u64) -> Option<StoredObject> {
    store.read(ObjectNumber(number)).expect("a working medium answers")
}

fn created_is_read_whole(store: &dyn CheckpointStore) {
    assert_eq!(read(store, 0), None);
    let large: Vec<u8> = (0..1_000_003_u32).map(|it| it.to_le_bytes()[0]).collect();
    let bodies = [&b""[..], b"\0", b"{\"kind\":\"claim\"}", &large];
    for (number, body) in (0..).zip(bodies) {
        let nonce = u128::MAX - u128::from(number);
        assert_eq!(create(store, number, nonce, body), Creation::Created);
        let expected = StoredObject { nonce: Nonce(nonce), body: body.to_vec() };
        assert_eq!(read(store, number), Some(expected));
    }
}

fn a_number_is_created_once(store: &dyn CheckpointStore) {
    assert_eq!(create(store, 5, 1, b"first"), Creation::Created);
    assert_eq!(create(store, 5, 2, b"second"), Creation::Taken);
    assert_eq!(create(store, 5, 2, b"first"), Creation::Taken);
    let there = read(store, 5).expect("it was created");
    assert_eq!((there.nonce, there.body.as_slice()), (Nonce(1), &b"first"[..]));
}

fn creating_again_is_idempotent(store: &dyn CheckpointStore) {
    for _ in 0..3 {
        assert_eq!(create(store, 5, 1, b"body"), Creation::Created);
    }
    assert_eq!(store.list().expect("a working medium answers"), [ObjectNumber(5)]);
}

fn a_nonce_has_one_body(store: &dyn CheckpointStore) {
    assert_eq!(create(store, 5, 1, b"body"), Creation::Created);
    let error = store.create(ObjectNumber(5), Nonce(1), b"other").expect_err("a bug of the caller");
    assert_eq!(error.blame(), model::Blame::Host);
    assert_eq!(read(store, 5).expect("it was created").body, b"body");
}

fn numbers_are_listed_rising(store: &dyn CheckpointStore) {
    assert!(store.list().expect("a working medium answers").is_empty());
    for number in [0, 9, 10, 1_000, u64::MAX] {
        assert_eq!(create(store, number, 1, b"x"), Creation::Created);
    }
    let listed: Vec<u64> = store.list().expect("a working medium answers").iter().map(|it| it.0).collect();
    assert_eq!(listed, [0, 9, 10, 1_000, u64::MAX]);
}

fn below_the_newest_is_taken(store: &dyn CheckpointStore) {
    assert_eq!(create(store, 5, 1, b"mine"), Creation::Created);
    assert_eq!(create(store, 7, 2, b"newer"), Creation::Created);
    assert_eq!(create(store, 6, 1, b"late"), Creation::Taken);
    assert_eq!(create(store, 5, 1, b"mine"), Creation::Taken);
    assert_eq!(create(store, 7, 2, b"newer"), Creation::Created);
    assert_eq!(read(store, 5).expect("it was created").body, b"mine");
}

fn removed_numbers_stay_taken(store: &dyn CheckpointStore) {
    for number in 0..4 {
        assert_eq!(create(store, number, 1, b"x"), Creation::Created);
    }
    for number in [0, 2, 2, 17] {
        store.remove(ObjectNumber(number)).expect("a working medium answers");
    }
    assert_eq!(store.list().expect("a working medium answers"), [ObjectNumber(1), ObjectNumber(3)]);
    assert_eq!(read(store, 2), None);
    for number in [0, 2] {
        assert_eq!(create(store, number, 9, b"zombie"), Creation::Taken);
    }
    assert_eq!(read(store, 3).expect("it was created").body, b"x");
}

fn the_newest_is_not_removed(store: &dyn CheckpointStore) {
    assert_eq!(create(store, 3, 1, b"x"), Creation::Created);
    let error = store.remove(ObjectNumber(3)).expect_err("a bug of the caller");
    assert_eq!((error.blame(), error.retry()), (model::Blame::Host, model::Retry::No));
    assert_eq!(read(store, 3).expect("it was created").body, b"x");
}

fn one_of_many_wins(store: &dyn CheckpointStore) {
    for number in 0..8 {
        let outcomes: Vec<Creation> = thread::scope(|scope| {
            let racers: Vec<_> = (0..8_u128)
                .map(|nonce| scope.spawn(move || create(store, number, nonce, &nonce.to_le_bytes())))
                .collect();
            racers.into_iter().map(|it| it.join().expect("a racer answers")).collect()
        });
        let winners: Vec<usize> =
            outcomes.iter().enumerate().filter(|(_, it)| **it == Creation::Created).map(|(at, _)| at).collect();
        assert_eq!(winners.len(), 1, "winners of object {number}: {winners:?}");
        let there = read(store, number).expect("it was created");
        assert_eq!(Some(there.nonce), winners.first().map(|it| Nonce(*it as u128)));
        assert_eq!(there.body, there.nonce.0.to_le_bytes());
    }
}
