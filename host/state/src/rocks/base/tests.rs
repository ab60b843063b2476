use contract::compliance::state as suite;

use super::*;
use crate::rocks::folder::ProcessFolder;

#[test]
fn a_drain_that_is_empty_or_fails_leaves_no_file() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Arc::new(ProcessFolder::open(shared.path()).unwrap()).table().unwrap();
    let scope = suite::scope();
    let base = Base::open(scope.operator, &scope.states, folder, &Cache::new_lru_cache(1 << 20)).unwrap();
    let left = || {
        let names = std::fs::read_dir(base.folder()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("drained")).count()
    };
    base.ingest(|_| Ok(())).unwrap();
    assert_eq!(left(), 0, "nothing was in it");
    let failed = base.ingest(|sst| sst.add(b"key", Some(b"value")).and_then(|()| Err(base.whose().damaged("read"))));
    assert!(failed.is_err());
    assert_eq!(left(), 0, "it was given up");
    base.ingest(|sst| sst.add(b"key", Some(b"value"))).unwrap();
    assert_eq!(left(), 0, "it was moved");
}

#[test]
fn slices_end_at_files_and_are_bounded_by_bytes() {
    let files = || [b"b", b"e", b"c", b"d"].map(|last| (last.to_vec(), 10)).to_vec();
    let ends = |bytes| {
        let (mut ends, mut first) = (Vec::new(), Vec::new());
        while let Some(end) = slice_end(files(), &first, bytes) {
            ends.push(String::from_utf8(end.clone()).unwrap());
            first = end;
        }
        ends
    };
    assert_eq!(ends(1), ["b", "c", "d"], "a file at least");
    assert_eq!(ends(11), ["c"], "and then the rest");
    assert_eq!(ends(30), ["d"]);
    assert_eq!(ends(40), Vec::<String>::new(), "the last one goes to the end");
}
