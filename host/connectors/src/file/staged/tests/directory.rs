//! What else may be in the directory.

use model::{Generation, Retry};

use super::super::disk;
use super::*;
use crate::file::{FileSink, FileSinkOptions};

const OTHER: LineageId = LineageId(0xbeef);

fn refused(sink: &StagedFileSink, lineage: LineageId) -> contract::Error {
    let by_writer = sink.open(&task(lineage, 1)).err().expect("it is refused to a writer");
    let by_publisher = sink.publisher(lineage).err().expect("it is refused to a publisher");
    assert_eq!(by_writer.to_string(), by_publisher.to_string());
    assert_eq!(by_writer.retry(), Retry::No);
    by_writer
}

#[test]
fn another_lineage_is_refused_with_the_name_of_the_first() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        drop(open(&StagedFileSink::new(options(root.path(), layout))));
        let second = StagedFileSinkOptions { owner: "job `copy`, sink `x`".to_owned(), ..options(root.path(), layout) };
        let before = tree(root.path());
        let error = refused(&StagedFileSink::new(second), OTHER);
        assert_eq!(error.code(), Some("E0325"));
        assert!(error.to_string().contains("lineage 000000000000feed of job `orders`, sink `clean`"), "{error}");
        assert!(error.to_string().contains("job `copy`, sink `x`"), "{error}");
        assert_eq!(tree(root.path()), before, "nothing was changed");
    }
}

#[test]
fn another_sink_of_the_same_job_is_refused() {
    let root = tempfile::tempdir().expect("a directory");
    drop(open(&StagedFileSink::new(options(root.path(), FileLayout::Plain))));
    let second = StagedFileSinkOptions {
        owner: "job `orders`, sink `late`".to_owned(),
        takes_over: Some(LINEAGE),
        ..options(root.path(), FileLayout::Plain)
    };
    assert_eq!(refused(&StagedFileSink::new(second), LINEAGE).code(), Some("E0325"));
}

#[test]
fn a_rewind_takes_over_and_closes_the_old_lineage() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let first = StagedFileSink::new(options(root.path(), layout));
        let mut writer = open(&first);
        let mut old = publisher(&first);
        let published = stage(&mut *writer, 1, &["one"]);
        old.publish(Epoch(1), &published).expect("published");
        let pending = stage(&mut *writer, 2, &["of the old history"]);
        let again = StagedFileSinkOptions { takes_over: Some(LINEAGE), ..options(root.path(), layout) };
        let second = StagedFileSink::new(again);
        let mut writer = second.open(&task(OTHER, 2)).expect("it takes over");
        let closed = old.publish(Epoch(2), &pending).expect_err("it is closed");
        assert_eq!((closed.code(), closed.retry()), (Some("E0326"), Retry::No));
        assert!(old.last_published().is_err() && old.discard_orphans(&[], Generation(2)).is_err());
        let mut new = second.publisher(OTHER).expect("it has a publisher").expect("it stages");
        assert_eq!(new.last_published().expect("it answers"), None);
        assert!(new.publish(Epoch(2), &pending).is_err(), "the old history's output is not the new one's");
        let staged = stage(&mut *writer, 2, &["one again"]);
        new.publish(Epoch(2), &staged).expect("published");
        assert_eq!(new.discard_orphans(&[], Generation(2)).expect("orphans"), 1, "what the old history staged");
        let mut seen = texts(root.path(), layout);
        seen.sort_unstable();
        assert_eq!(seen, ["one", "one again"]);
        assert_eq!(refused(&first, LINEAGE).code(), Some("E0325"), "the old history does not come back");
        drop(second.open(&task(OTHER, 3)).expect("the new one does"));
    }
}

#[test]
fn a_directory_keeps_its_layout() {
    let root = tempfile::tempdir().expect("a directory");
    drop(open(&StagedFileSink::new(options(root.path(), FileLayout::Plain))));
    let error = refused(&StagedFileSink::new(options(root.path(), FileLayout::Commits)), LINEAGE);
    assert_eq!(error.code(), Some("E0333"));
}

#[test]
fn a_path_that_names_one_file_is_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(&root.path().join("out.jsonl"), FileLayout::Plain));
    assert_eq!(refused(&sink, LINEAGE).code(), Some("E0332"));
    assert!(tree(root.path()).is_empty());
}

#[test]
fn parts_of_a_sink_that_does_not_stage_do_not_mix_with_ours() {
    let root = tempfile::tempdir().expect("a directory");
    fs::write(root.path().join("part-00000.txt"), "old\n").expect("a file");
    let error = refused(&StagedFileSink::new(options(root.path(), FileLayout::Plain)), LINEAGE);
    assert_eq!(error.code(), Some("E0320"));
    fs::remove_file(root.path().join("part-00000.txt")).expect("removed");
    drop(open(&StagedFileSink::new(options(root.path(), FileLayout::Plain))));
    let plain = FileSink::new(FileSinkOptions {
        path: root.path().to_owned(),
        compression: SinkCompression::None,
        overwrite: true,
        format: FormatSpec::Raw,
    });
    let error = plain.open(&task(LINEAGE, 1)).err().expect("nor the other way round");
    assert_eq!(error.code(), Some("E0325"));
}

#[test]
fn a_foreign_file_of_the_name_of_a_part_is_not_replaced() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(root.path(), FileLayout::Plain));
    let staged = stage(&mut *open(&sink), 1, &["one"]);
    let name = root.path().join(format!("part-0000000001-00000-00000-{LINEAGE}.txt"));
    fs::write(&name, "mine\n").expect("a file");
    let error = publisher(&sink).publish(Epoch(1), &staged).expect_err("the name is taken");
    assert_eq!((error.code(), error.retry()), (Some("E0328"), Retry::No));
    assert_eq!(fs::read_to_string(&name).expect("a file"), "mine\n");
    fs::remove_file(&name).expect("removed");
    publisher(&sink).publish(Epoch(1), &staged).expect("published");
    assert_eq!(texts(root.path(), FileLayout::Plain), ["one"]);
}

#[test]
fn a_commit_of_the_same_epoch_with_other_files_is_not_replaced() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(root.path(), FileLayout::Commits));
    let mut writer = open(&sink);
    let (one, other) = (stage(&mut *writer, 1, &["one"]), stage(&mut *writer, 1, &["other"]));
    publisher(&sink).publish(Epoch(1), &one).expect("published");
    let error = publisher(&sink).publish(Epoch(1), &other).expect_err("the epoch is taken");
    assert_eq!(error.code(), Some("E0328"));
    assert!(error.to_string().contains("00000000000000000001.json"), "{error}");
    assert_eq!(texts(root.path(), FileLayout::Commits), ["one"]);
}

#[test]
fn what_was_staged_and_is_gone_or_cut_is_an_error_by_name() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let sink = StagedFileSink::new(options(root.path(), layout));
        let mut writer = open(&sink);
        let mut staged = stage(&mut *writer, 1, &["one"]);
        staged.extend(stage(&mut *writer, 1, &["two"]));
        let directory = super::super::publisher::staged_directory(root.path(), layout, LINEAGE);
        let names = disk::names(&directory).expect("staged files");
        let second = directory.join(&names[1]);
        fs::write(&second, "t").expect("cut");
        let error = publisher(&sink).publish(Epoch(1), &staged).expect_err("it is cut");
        assert_eq!((error.code(), error.retry()), (Some("E0327"), Retry::No));
        assert!(error.to_string().contains("has 1 bytes, expected 4 bytes"), "{error}");
        fs::remove_file(&second).expect("removed");
        let error = publisher(&sink).publish(Epoch(1), &staged).expect_err("it is gone");
        assert!(error.to_string().contains("is gone") && error.to_string().contains(&names[1]), "{error}");
        assert!(texts(root.path(), layout).is_empty(), "nothing of the epoch is visible");
    }
}

#[test]
fn orphans_of_the_generation_that_writes_stay() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        stage(&mut *open(&StagedFileSink::new(options(root.path(), layout))), 1, &["of generation 1"]);
        let sink = StagedFileSink::new(options(root.path(), layout));
        let mut writer = sink.open(&task(LINEAGE, 2)).expect("it opens");
        let staged = stage(&mut *writer, 1, &["of generation 2"]);
        assert_eq!(publisher(&sink).discard_orphans(&[], Generation(2)).expect("orphans"), 1);
        publisher(&sink).publish(Epoch(1), &staged).expect("published");
        assert_eq!(texts(root.path(), layout), ["of generation 2"]);
    }
}

/// A sink that lets `act` happen before the step `doing` whose path ends so, once.
fn with_intruder(
    options: &StagedFileSinkOptions,
    doing: &'static str,
    ending: &'static str,
    act: impl Fn(&Path) + Send + Sync + 'static,
) -> StagedFileSink {
    let mut sink = StagedFileSink::new(options.clone());
    sink.disk.before_step = Some(Arc::new(move |step, path| {
        if step == doing && path.to_string_lossy().ends_with(ending) && !path.exists() {
            act(path);
        }
        Ok(())
    }));
    sink
}

#[test]
fn a_foreign_part_that_comes_while_the_epoch_is_published_is_not_replaced() {
    let root = tempfile::tempdir().expect("a directory");
    let options = options(root.path(), FileLayout::Plain);
    let staged = stage(&mut *open(&StagedFileSink::new(options.clone())), 1, &["one"]);
    let sink = with_intruder(&options, "rename to", "feed.txt", |part| fs::write(part, "mine\n").expect("a file"));
    let error = publisher(&sink).publish(Epoch(1), &staged).expect_err("the name is taken");
    assert_eq!((error.code(), error.retry()), (Some("E0328"), Retry::No));
    let part = root.path().join(&parts(root.path())[0]);
    assert_eq!(fs::read_to_string(&part).expect("a file"), "mine\n");
    fs::remove_file(part).expect("removed");
    publisher(&StagedFileSink::new(options)).publish(Epoch(1), &staged).expect("published");
    assert_eq!(texts(root.path(), FileLayout::Plain), ["one"]);
}

#[test]
fn a_part_that_a_loss_of_power_left_under_both_names_is_published_once() {
    let root = tempfile::tempdir().expect("a directory");
    let options = options(root.path(), FileLayout::Plain);
    let staged = stage(&mut *open(&StagedFileSink::new(options.clone())), 1, &["one"]);
    let directory = super::super::publisher::staged_directory(root.path(), FileLayout::Plain, LINEAGE);
    let from = directory.join(&disk::names(&directory).expect("staged files")[0]);
    let sink = with_intruder(&options, "rename to", "feed.txt", move |part| {
        fs::hard_link(&from, part).expect("another name");
    });
    publisher(&sink).publish(Epoch(1), &staged).expect("published");
    assert_eq!(texts(root.path(), FileLayout::Plain), ["one"]);
    assert!(!tree(root.path()).iter().any(|name| name.contains("/staged/")), "{:?}", tree(root.path()));
}

#[test]
fn a_commit_that_another_process_creates_first_stands() {
    let root = tempfile::tempdir().expect("a directory");
    let options = options(root.path(), FileLayout::Commits);
    let mut writer = open(&StagedFileSink::new(options.clone()));
    let (one, other) = (stage(&mut *writer, 1, &["one"]), stage(&mut *writer, 1, &["other"]));
    for (theirs, is_ours_too) in [(other.clone(), false), (one.clone(), true)] {
        let commit = root.path().join(format!("_commits/{LINEAGE}/00000000000000000001.json"));
        drop(fs::remove_file(&commit));
        let (first, expected) = (options.clone(), theirs.clone());
        let sink = with_intruder(&options, "rename to", "1.json", move |_| {
            publisher(&StagedFileSink::new(first.clone())).publish(Epoch(1), &theirs).expect("it is first");
        });
        let second = publisher(&sink).publish(Epoch(1), &one);
        assert_eq!(second.as_ref().err().and_then(contract::Error::code), (!is_ours_too).then_some("E0328"));
        let visible = if expected == one { "one" } else { "other" };
        assert_eq!(texts(root.path(), FileLayout::Commits), [visible]);
    }
}

#[test]
fn a_publisher_on_a_full_disk_leaves_nothing_behind_and_succeeds_when_there_is_room() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let options = options(root.path(), layout);
        let staged = stage(&mut *open(&StagedFileSink::new(options.clone())), 1, &["one"]);
        let before = tree(root.path());
        let full = with_intruder(&options, "write", ".tmp", |unfinished| {
            std::os::unix::fs::symlink("/dev/full", unfinished).expect("a disk without room");
        });
        let mut publisher = publisher(&full);
        for _ in 0..3 {
            let error = publisher.publish(Epoch(1), &staged).expect_err("there is no room");
            assert_eq!((error.code(), error.retry()), (Some("E0322"), Retry::Backoff), "{error}");
        }
        assert_eq!(tree(root.path()), before, "{layout}");
        super::publisher(&StagedFileSink::new(options)).publish(Epoch(1), &staged).expect("there is room");
        assert_eq!(texts(root.path(), layout), ["one"]);
    }
}

#[test]
fn a_rewind_waits_for_the_epoch_that_the_old_lineage_is_publishing() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let options = options(root.path(), layout);
        let again = StagedFileSinkOptions { takes_over: Some(LINEAGE), ..options.clone() };
        let second = Arc::new(StagedFileSink::new(again));
        let mut writer = open(&StagedFileSink::new(options.clone()));
        let (one, two) = (stage(&mut *writer, 1, &["one"]), stage(&mut *writer, 2, &["two"]));
        let taking = Arc::clone(&second);
        let first = with_intruder(&options, "rename to", ".json", move |_| {
            let error = taking.open(&task(OTHER, 2)).err().expect("the old one is within an epoch");
            assert_eq!((error.code(), error.retry()), (Some("E0324"), Retry::Backoff), "{error}");
        });
        let mut old = publisher(&first);
        old.publish(Epoch(1), &one).expect("it ends what it began");
        drop(second.open(&task(OTHER, 2)).expect("it takes over between two epochs"));
        assert_eq!(old.publish(Epoch(2), &two).expect_err("it is closed").code(), Some("E0326"));
        assert_eq!(texts(root.path(), layout), ["one"]);
    }
}

#[test]
fn a_directory_whose_owner_cannot_be_noted_is_not_ours() {
    let root = tempfile::tempdir().expect("a directory");
    fs::create_dir(root.path().join(".tidegate")).expect("a directory");
    std::os::unix::fs::symlink("nowhere", root.path().join(".tidegate/owner.json")).expect("a link");
    let error = refused(&StagedFileSink::new(options(root.path(), FileLayout::Plain)), LINEAGE);
    assert_eq!(error.code(), Some("E0329"), "{error}");
}

#[test]
fn a_publisher_does_not_wait_for_a_rewind_that_was_stopped() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(root.path(), FileLayout::Commits));
    let staged = stage(&mut *open(&sink), 1, &["one"]);
    let held = fs::File::open(root.path().join(".tidegate/owner.json")).expect("an owner");
    held.try_lock().expect("nobody publishes");
    let error = publisher(&sink).publish(Epoch(1), &staged).expect_err("the directory is being taken over");
    assert_eq!((error.code(), error.retry()), (Some("E0322"), Retry::Backoff), "{error}");
    drop(held);
    publisher(&sink).publish(Epoch(1), &staged).expect("nobody has it");
}

#[test]
fn a_link_of_the_name_of_a_part_is_neither_written_through_nor_replaced() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(root.path(), FileLayout::Plain));
    let staged = stage(&mut *open(&sink), 1, &["one"]);
    let part = root.path().join(format!("part-0000000001-00000-00000-{LINEAGE}.txt"));
    std::os::unix::fs::symlink("elsewhere.txt", &part).expect("a link that leads nowhere");
    let error = publisher(&sink).publish(Epoch(1), &staged).expect_err("the name is taken");
    assert_eq!((error.code(), error.retry()), (Some("E0328"), Retry::No));
    assert!(part.is_symlink() && !root.path().join("elsewhere.txt").exists());
}

#[test]
fn of_two_files_that_are_given_one_name_by_linking_one_has_it_and_the_other_stays() {
    for round in 0..200 {
        let root = tempfile::tempdir().expect("a directory");
        let to = root.path().join("to");
        let from = ["a", "b"].map(|name| root.path().join(name));
        from.iter().for_each(|path| fs::write(path, path.display().to_string()).expect("a file"));
        let start = std::sync::Barrier::new(2);
        let won = std::thread::scope(|scope| {
            let race = from.each_ref().map(|path| {
                scope.spawn(|| {
                    start.wait();
                    disk::link_new(path, &to).expect("links are known here")
                })
            });
            race.map(|thread| thread.join().expect("it ends"))
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "round {round}");
        let (winner, loser) = if won[0] { (&from[0], &from[1]) } else { (&from[1], &from[0]) };
        assert_eq!(fs::read_to_string(&to).expect("it is there"), winner.display().to_string());
        assert!(!winner.exists() && loser.exists());
    }
}

#[test]
fn a_name_that_was_given_half_is_given_whole_by_the_next_attempt() {
    let root = tempfile::tempdir().expect("a directory");
    let (from, to) = (root.path().join("from"), root.path().join("to"));
    fs::write(&from, "text").expect("a file");
    fs::hard_link(&from, &to).expect("a link");
    assert!(disk::link_new(&from, &to).expect("it is the same file"));
    assert!(!from.exists() && to.exists());
}

#[test]
fn an_unfinished_file_that_somebody_who_starts_beside_us_removes_is_written_again() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let options = options(root.path(), layout);
        let staged = stage(&mut *open(&StagedFileSink::new(options.clone())), 1, &["one"]);
        let mut sink = StagedFileSink::new(options);
        let removed = std::sync::atomic::AtomicUsize::new(0);
        let base = root.path().to_owned();
        sink.disk.before_step = Some(Arc::new(move |doing, _| {
            if doing == "rename to" && removed.fetch_add(1, Ordering::SeqCst) < 3 {
                let unfinished = tree(&base).into_iter().filter(|name| name.ends_with(".tmp"));
                unfinished.for_each(|name| fs::remove_file(base.join(name)).expect("it is there"));
            }
            Ok(())
        }));
        publisher(&sink).publish(Epoch(1), &staged).expect("published in the end");
        assert_eq!(texts(root.path(), layout), ["one"]);
    }
}
