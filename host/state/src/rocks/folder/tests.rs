use super::*;

fn shared() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_a_process_that_is_no_more_left_is_removed_and_nothing_else() {
    let shared = shared();
    let left = shared.path().join("p0001");
    fs::create_dir_all(left.join("t0001/db")).unwrap();
    fs::write(left.join("t0001/db/000001.sst"), b"old").unwrap();
    fs::write(left.join("lock"), b"").unwrap();
    fs::create_dir(shared.path().join("notes")).unwrap();
    fs::create_dir(shared.path().join("p1")).unwrap();
    let folder = ProcessFolder::open(shared.path()).unwrap();
    assert_eq!(names(shared.path()), ["lock", "notes", "p0001", "p1"]);
    assert_eq!(names(&folder.path), ["lock"], "it is empty");
}

#[test]
fn processes_that_live_do_not_touch_each_others() {
    let shared = shared();
    let first = Arc::new(ProcessFolder::open(shared.path()).unwrap());
    let table = first.table().unwrap();
    fs::write(table.path.join("file"), b"in use").unwrap();
    let second = Arc::new(ProcessFolder::open(shared.path()).unwrap());
    assert_ne!(first.path, second.path);
    assert!(table.path.join("file").exists());
    drop((first, table));
    assert_eq!(names(shared.path()), ["lock", "p0002"], "a folder goes with its owner");
}

#[test]
fn a_folder_lives_as_long_as_its_tables() {
    let shared = shared();
    let process = Arc::new(ProcessFolder::open(shared.path()).unwrap());
    let (one, other) = (process.table().unwrap(), process.table().unwrap());
    assert_ne!(one.path, other.path);
    drop(process);
    let path = one.path.clone();
    drop(one);
    assert!(!path.exists() && other.path.exists());
    drop(other);
    assert_eq!(names(shared.path()), ["lock"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let shared = shared();
    let file = shared.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = contract::Error::from(ProcessFolder::open(&file.join("state")).unwrap_err());
    assert_eq!(error.code(), Some("E0607"));
    assert!(error.to_string().contains("file/state"), "{error}");
}

#[test]
fn a_lock_of_a_folder_that_was_removed_or_made_anew_is_none() {
    let shared = shared();
    let path = shared.path().join("p0001");
    let made = || {
        fs::create_dir(&path).unwrap();
        File::create(path.join(LOCK)).unwrap()
    };
    let file = made();
    fs::remove_dir_all(&path).unwrap();
    assert!(take(file, &path).unwrap().is_none(), "it is gone");
    let file = made();
    fs::remove_dir_all(&path).unwrap();
    let another = made();
    assert!(take(file, &path).unwrap().is_none(), "it is another's");
    assert!(take(another, &path).unwrap().is_some());
}

#[test]
fn processes_that_start_at_once_have_a_folder_each() {
    let shared = shared();
    for _ in 0..30 {
        let start = std::sync::Barrier::new(8);
        let open = || {
            start.wait();
            let own = ProcessFolder::open(shared.path()).unwrap();
            start.wait();
            (own.path.join(LOCK).exists(), own)
        };
        let owned: Vec<_> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(owned.iter().all(|(is_there, _)| *is_there), "nobody removed another's");
        let mut paths: Vec<_> = owned.iter().map(|(_, own)| &own.path).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 8);
    }
}
