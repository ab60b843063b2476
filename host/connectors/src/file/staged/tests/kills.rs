//! A publisher that ends before any of its steps, and another that publishes again.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::*;

/// More steps than publishing one epoch takes.
const MOST_STEPS: usize = 22;

/// A sink whose process ends before step `last`, from 0.
fn ending_before(options: &StagedFileSinkOptions, last: usize) -> StagedFileSink {
    let mut sink = StagedFileSink::new(options.clone());
    let steps = AtomicUsize::new(0);
    sink.disk.before_step = Some(Arc::new(move |_, _| {
        if steps.fetch_add(1, Ordering::SeqCst) < last { Ok(()) } else { Err(io::Error::other("the process ends")) }
    }));
    sink
}

/// Stages three files of two epochs and publishes the first epoch; returns what the second staged.
fn prepare(options: &StagedFileSinkOptions) -> Vec<StagedOutput> {
    let sink = StagedFileSink::new(options.clone());
    let mut writer = open(&sink);
    let first = stage(&mut *writer, 1, &["one"]);
    publisher(&sink).publish(Epoch(1), &first).expect("published");
    let mut second = stage(&mut *writer, 2, &["two"]);
    second.extend(stage(&mut *writer, 3, &["three"]));
    second
}

/// Publishes epoch 3 by a process that ends before step `last`: `false`, if it ended before it was done.
fn publish_until(options: &StagedFileSinkOptions, staged: &[StagedOutput], last: usize) -> bool {
    let sink = ending_before(options, last);
    let publisher = sink.publisher(LINEAGE);
    publisher.is_ok_and(|publisher| publisher.expect("it stages").publish(Epoch(3), staged).is_ok())
}

/// What a reader does with a part as soon as it sees it: takes it away. Adds its lines to `taken`.
fn take_away(path: &Path, taken: &mut BTreeMap<String, Vec<Vec<u8>>>) {
    for name in parts(path) {
        let lines = lines_of(&path.join(&name));
        assert_eq!(taken.insert(name.clone(), lines), None, "`{name}` came back");
        fs::remove_file(path.join(name)).expect("taken away");
    }
}

#[test]
fn a_publisher_that_ends_before_any_step_publishes_once_in_the_end() {
    for layout in LAYOUTS {
        let mut done_at_first = 0;
        for last in 0..MOST_STEPS {
            let root = tempfile::tempdir().expect("a directory");
            let options = options(root.path(), layout);
            let staged = prepare(&options);
            let is_done = publish_until(&options, &staged, last);
            done_at_first += usize::from(is_done);
            if layout == FileLayout::Commits {
                let expected: &[&str] = if is_done { &["one", "two", "three"] } else { &["one"] };
                let seen = texts(root.path(), layout);
                assert!(
                    seen == expected || seen.len() == 3,
                    "step {last}: the epoch is visible whole or not: {seen:?}"
                );
            }
            for _ in 0..2 {
                let sink = StagedFileSink::new(options.clone());
                publisher(&sink).publish(Epoch(3), &staged).expect("published at last");
                assert_eq!(texts(root.path(), layout), ["one", "two", "three"], "{layout}, step {last}");
                assert_eq!(publisher(&sink).last_published().expect("a ledger"), Some(Epoch(3)));
            }
        }
        let ended_between = MOST_STEPS - done_at_first;
        assert!(done_at_first > 0 && ended_between >= 3, "{layout}: {ended_between} ended between steps");
    }
}

#[test]
fn what_readers_took_away_does_not_come_back_whatever_step_a_publisher_ended_before() {
    for last in 0..MOST_STEPS {
        let root = tempfile::tempdir().expect("a directory");
        let options = options(root.path(), FileLayout::Plain);
        let staged = prepare(&options);
        let mut taken = BTreeMap::new();
        take_away(root.path(), &mut taken);
        // Three ends in a row, the later ones further on, with a reader after each.
        for more in 0..3 {
            publish_until(&options, &staged, last + more);
            take_away(root.path(), &mut taken);
        }
        let sink = StagedFileSink::new(options);
        publisher(&sink).publish(Epoch(3), &staged).expect("published at last");
        take_away(root.path(), &mut taken);
        publisher(&sink).publish(Epoch(3), &staged).expect("published again");
        take_away(root.path(), &mut taken);
        let lines: Vec<_> = taken.into_values().flatten().collect();
        assert_eq!(lines, [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()], "step {last}");
    }
}

#[test]
fn a_process_that_ends_while_orphans_are_removed_leaves_the_rest_to_the_next() {
    for layout in LAYOUTS {
        for last in 0..MOST_STEPS {
            let root = tempfile::tempdir().expect("a directory");
            let options = options(root.path(), layout);
            let listed = prepare(&options);
            drop(open(&StagedFileSink::new(options.clone())).stage(Epoch(4)).expect("staged"));
            stage(&mut *open(&StagedFileSink::new(options.clone())), 4, &["orphan"]);
            if let Ok(Some(mut publisher)) = ending_before(&options, last).publisher(LINEAGE) {
                drop(publisher.discard_orphans(&listed, Generation(2)));
            }
            let sink = StagedFileSink::new(options);
            let mut publisher = publisher(&sink);
            publisher.discard_orphans(&listed, Generation(2)).expect("the rest is removed");
            publisher.publish(Epoch(3), &listed).expect("what is listed is published");
            assert_eq!(texts(root.path(), layout), ["one", "two", "three"], "{layout}, step {last}");
            assert!(!tree(root.path()).iter().any(|name| name.ends_with(".tmp")), "{:?}", tree(root.path()));
        }
    }
}

#[test]
fn unfinished_files_of_a_publisher_that_ended_are_removed_as_orphans() {
    for layout in LAYOUTS {
        for last in 0..MOST_STEPS {
            let root = tempfile::tempdir().expect("a directory");
            let options = options(root.path(), layout);
            let staged = prepare(&options);
            publish_until(&options, &staged, last);
            let sink = StagedFileSink::new(options);
            publisher(&sink).discard_orphans(&staged, Generation(2)).expect("orphans are looked for");
            assert!(!tree(root.path()).iter().any(|name| name.ends_with(".tmp")), "{:?}", tree(root.path()));
            publisher(&sink).publish(Epoch(3), &staged).expect("published at last");
            assert_eq!(texts(root.path(), layout), ["one", "two", "three"], "{layout}, step {last}");
        }
    }
}

/// What a publisher does to the disk for epoch 3, in order, without what differs from run to run.
fn steps(layout: FileLayout) -> Vec<String> {
    let root = tempfile::tempdir().expect("a directory");
    let options = options(root.path(), layout);
    let staged = prepare(&options);
    let mut sink = StagedFileSink::new(options);
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&log);
    let base = root.path().to_owned();
    sink.disk.before_step = Some(Arc::new(move |doing, path| {
        let path = path.strip_prefix(&base).expect("below the directory").display().to_string();
        let path = path.replace(&LINEAGE.to_string(), "L");
        let path =
            path.split_once(&format!("-{}-", std::process::id())).map_or(path.clone(), |(name, _)| name.to_owned());
        noted.lock().expect("a log").push(format!("{doing} {path}"));
        Ok(())
    }));
    let mut publisher = publisher(&sink);
    log.lock().expect("a log").clear();
    publisher.publish(Epoch(3), &staged).expect("published");
    drop(publisher);
    log.lock().expect("a log").clone()
}

#[test]
fn what_a_step_relies_on_is_durable_before_it() {
    let numbered = "00000000000000000003.json";
    assert_eq!(
        steps(FileLayout::Commits),
        [
            format!("write _commits/L/.{numbered}"),
            format!("rename to _commits/L/{numbered}"),
            "sync the directory _commits/L".to_owned(),
        ]
    );
    assert_eq!(
        steps(FileLayout::Plain),
        [
            format!("write .tidegate/L/.publishing-{numbered}"),
            format!("rename to .tidegate/L/publishing-{numbered}"),
            "sync the directory .tidegate/L".to_owned(),
            "rename to part-0000000003-00000-00000-L.txt".to_owned(),
            "rename to part-0000000003-00000-00001-L.txt".to_owned(),
            "sync the directory ".to_owned(),
            "sync the directory .tidegate/L/staged".to_owned(),
            format!("rename to .tidegate/L/published-{numbered}"),
            "sync the directory .tidegate/L".to_owned(),
            "remove .tidegate/L/published-00000000000000000001.json".to_owned(),
        ]
    );
}
