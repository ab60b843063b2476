//! What every [`SnapshotStore`] promises.

use std::sync::Arc;
use std::thread;

use model::{Blame, Retry};

use crate::{Error, MAX_OBJECT_SEGMENT_BYTES, ObjectHandle, SnapshotStore};

/// Makes an empty store.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn SnapshotStore>;

/// One promise, checked on an empty store.
pub type Promise = fn(&dyn SnapshotStore);

/// Every promise with its name.
pub const PROMISES: &[(&str, Promise)] = &[
    ("pieces come back as they were put", pieces_come_back),
    ("putting again with the same pieces is no second object", putting_again_is_idempotent),
    ("a name has one content", a_name_has_one_content),
    ("what the handle does not fit is not handed out", a_handle_is_checked),
    ("a missing object is an error that waiting does not mend", a_missing_object_is_an_error),
    ("deleting takes effect once and may be repeated", deleting_may_be_repeated),
    ("a list names what lies below a whole number of segments", a_list_is_by_segments),
    ("a name that is none is refused", a_name_is_checked),
    ("several threads may put and get at once", threads_do_not_disturb_each_other),
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

fn pieces(texts: &[&[u8]]) -> Vec<Arc<Vec<u8>>> {
    texts.iter().map(|it| Arc::new(it.to_vec())).collect()
}

fn put(store: &dyn SnapshotStore, name: &str, texts: &[&[u8]]) -> ObjectHandle {
    store.put(name, &pieces(texts)).expect("a working medium takes objects")
}

fn get(store: &dyn SnapshotStore, handle: &ObjectHandle) -> Vec<Vec<u8>> {
    let got = store.get(handle).expect("it was put");
    got.iter().map(|it| it.to_vec()).collect()
}

fn listed(store: &dyn SnapshotStore, prefix: &str) -> Vec<String> {
    let mut names: Vec<String> =
        store.list(prefix).expect("a working medium answers").into_iter().map(|it| it.name).collect();
    names.sort_unstable();
    names
}

fn refused(result: Result<impl Sized, Error>, what: &str) -> Error {
    match result {
        Ok(_) => panic!("{what}: expected an error"),
        Err(error) => error,
    }
}

fn pieces_come_back(store: &dyn SnapshotStore) {
    let large: Vec<u8> = (0..3_000_017_u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0]).collect();
    let contents: [&[&[u8]]; 6] =
        [&[], &[b""], &[b"", b"one", b""], &[b"\0", b"\0\0"], &[&large, b"tail"], &[b"a", b"b", b"c", b"d"]];
    for (number, content) in contents.iter().enumerate() {
        let name = format!("state/3-7-dedup-0.{number}");
        let handle = put(store, &name, content);
        assert_eq!(handle.name, name);
        assert!(handle.length_bytes >= content.iter().map(|it| it.len() as u64).sum::<u64>());
        assert_eq!(get(store, &handle), *content);
        let there = store.list("state").expect("a working medium answers");
        let there = there.iter().find(|it| it.name == name).expect("it was put");
        assert_eq!(there.length_bytes, handle.length_bytes);
    }
}

fn putting_again_is_idempotent(store: &dyn SnapshotStore) {
    let first = put(store, "staged/1", &[b"some", b"output"]);
    assert_eq!(put(store, "staged/1", &[b"some", b"output"]), first);
    assert_eq!(listed(store, ""), ["staged/1"]);
}

fn a_name_has_one_content(store: &dyn SnapshotStore) {
    let first = put(store, "staged/1", &[b"some", b"output"]);
    for other in [&[&b"some"[..], b"0utput"][..], &[b"someo", b"utput"], &[b"some"]] {
        let error = refused(store.put("staged/1", &pieces(other)), "another content");
        assert_eq!((error.blame(), error.retry()), (Blame::Host, Retry::No), "{error}");
    }
    assert_eq!(get(store, &first), [&b"some"[..], b"output"]);
}

fn a_handle_is_checked(store: &dyn SnapshotStore) {
    let one = put(store, "state/1", &[b"the first"]);
    let two = put(store, "state/2", &[b"the other"]);
    assert_ne!(one.checksum, two.checksum);
    let wrong = [
        ObjectHandle { checksum: one.checksum ^ 1, ..one.clone() },
        ObjectHandle { length_bytes: one.length_bytes - 1, ..one.clone() },
        ObjectHandle { length_bytes: one.length_bytes + 1, ..one.clone() },
        ObjectHandle { name: two.name, ..one.clone() },
    ];
    for handle in wrong {
        let error = refused(store.get(&handle), "another object");
        assert_eq!((error.blame(), error.retry()), (Blame::External, Retry::No), "{error}");
    }
    assert_eq!(get(store, &one), [b"the first"]);
}

fn a_missing_object_is_an_error(store: &dyn SnapshotStore) {
    let gone = ObjectHandle { name: "state/gone".to_owned(), length_bytes: 1, checksum: 1 };
    let error = refused(store.get(&gone), "a missing object");
    assert_eq!((error.blame(), error.retry()), (Blame::External, Retry::No), "{error}");
    assert!(error.to_string().contains("state/gone"), "{error}");
}

fn deleting_may_be_repeated(store: &dyn SnapshotStore) {
    let kept = put(store, "state/kept", &[b"x"]);
    let gone = put(store, "state/gone", &[b"x"]);
    for _ in 0..2 {
        store.delete("state/gone").expect("a working medium answers");
        assert_eq!(listed(store, "state"), ["state/kept"]);
    }
    assert_eq!(refused(store.get(&gone), "a deleted object").retry(), Retry::No);
    assert_eq!(get(store, &kept), [b"x"]);
    // The place is free again.
    assert_eq!(put(store, "state/gone", &[b"x"]), gone);
}

fn a_list_is_by_segments(store: &dyn SnapshotStore) {
    assert!(listed(store, "").is_empty());
    assert!(listed(store, "state").is_empty());
    let names = ["staged/1-1", "state/a/1", "state/a/2", "state/a2/1", "state/b.c", "states/1"];
    for name in names {
        put(store, name, &[name.as_bytes()]);
    }
    assert_eq!(listed(store, ""), names);
    assert_eq!(listed(store, "state"), ["state/a/1", "state/a/2", "state/a2/1", "state/b.c"]);
    assert_eq!(listed(store, "state/a"), ["state/a/1", "state/a/2"]);
    assert!(listed(store, "stat").is_empty());
}

fn a_name_is_checked(store: &dyn SnapshotStore) {
    let long = "a".repeat(MAX_OBJECT_SEGMENT_BYTES + 1);
    let many = vec!["abcdefghi"; 60].join("/");
    let refused_names =
        ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", ".a", "A", "a b", "a#1", "ä", "a\\b", "a\0"];
    for name in refused_names.into_iter().chain([long.as_str(), many.as_str()]) {
        let error = refused(store.put(name, &pieces(&[b"x"])), name);
        assert_eq!((error.blame(), error.retry()), (Blame::Host, Retry::No), "{name}: {error}");
    }
    assert!(listed(store, "").is_empty());
    for name in [long.split_at(1).1, "a", "0", "-", "a..b", "a.", "a-b/c.d/e"] {
        put(store, &format!("names/{name}"), &[b"x"]);
    }
}

fn threads_do_not_disturb_each_other(store: &dyn SnapshotStore) {
    thread::scope(|scope| {
        for writer in 0..4_u8 {
            scope.spawn(move || {
                for number in 0..8 {
                    let content = vec![writer; 1000 + number];
                    let handle = put(store, &format!("state/{writer}/{number}"), &[&content, b"end"]);
                    assert_eq!(get(store, &handle), [&content[..], b"end"]);
                }
            });
        }
    });
    assert_eq!(listed(store, "state").len(), 32);
}
