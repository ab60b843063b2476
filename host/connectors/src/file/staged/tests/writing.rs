//! What a writer leaves, and when.

use std::sync::atomic::AtomicUsize;

use model::job::CsvSpec;
use model::{Generation, Retry};

use super::*;

#[test]
fn long_epochs_become_several_files() {
    for (layout, compression) in
        [(FileLayout::Commits, SinkCompression::None), (FileLayout::Plain, SinkCompression::Gzip)]
    {
        let root = tempfile::tempdir().expect("a directory");
        let options = StagedFileSinkOptions { roll_bytes: 300_000, compression, ..options(root.path(), layout) };
        let sink = StagedFileSink::new(options);
        let mut writer = open(&sink);
        // Bytes that do not pack well.
        let value =
            |n: u64| (0..16).map(|m| format!("{:016x}", (n * 31 + m).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let values: Vec<String> = (0..8_000).map(value).collect();
        values.chunks(100).for_each(|some| writer.write(&batch(some)).expect("written"));
        let staged = writer.stage(Epoch(1)).expect("it stages")().expect("durable");
        assert!(staged.len() >= 3, "{} files", staged.len());
        assert_eq!(staged.iter().map(|output| output.records).sum::<u64>(), 8_000);
        publisher(&sink).publish(Epoch(1), &staged).expect("published");
        assert!(texts(root.path(), layout) == values, "whole and in order");
    }
}

#[test]
fn a_run_leaves_nothing_but_data_and_its_ledger() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let sink = StagedFileSink::new(options(root.path(), layout));
        let (mut writer, mut publisher) = (open(&sink), publisher(&sink));
        for epoch in 1..=50 {
            let staged = stage(&mut *writer, epoch, &["a record"]);
            publisher.publish(Epoch(epoch), &staged).expect("published");
        }
        writer.write(&batch(&["of no epoch"])).expect("written");
        writer.close().expect("closed");
        publisher.discard_orphans(&[], Generation(2)).expect("orphans");
        let tree = tree(root.path());
        let (hidden, data): (Vec<_>, Vec<_>) = tree.iter().partition(|name| name.starts_with(".tidegate"));
        match layout {
            FileLayout::Commits => {
                assert_eq!(hidden, [".tidegate/owner.json"]);
                assert_eq!(data.len(), 100, "a data file and a commit for each epoch");
            }
            FileLayout::Plain => {
                let ledger = format!(".tidegate/{LINEAGE}/published-00000000000000000050.json");
                assert_eq!(hidden, [&ledger, ".tidegate/owner.json"]);
                assert_eq!(data.len(), 50, "a part for each epoch");
            }
        }
    }
}

#[test]
fn a_sink_without_records_leaves_no_files_but_its_owner() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let sink = StagedFileSink::new(options(root.path(), layout));
        let (mut writer, mut publisher) = (open(&sink), publisher(&sink));
        for epoch in 1..=3 {
            let staged = writer.stage(Epoch(epoch)).expect("it stages")().expect("durable");
            publisher.publish(Epoch(epoch), &staged).expect("published");
        }
        writer.close().expect("closed");
        assert_eq!(tree(root.path()), [".tidegate/owner.json"]);
    }
}

#[test]
fn a_barrier_costs_the_writer_no_step_on_the_disk() {
    let root = tempfile::tempdir().expect("a directory");
    let mut sink = StagedFileSink::new(options(root.path(), FileLayout::Plain));
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    sink.disk.before_step = Some(Arc::new(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    let mut writer = open(&sink);
    writer.write(&batch(&["one"])).expect("written");
    let before = steps.load(Ordering::SeqCst);
    let staged_directory = super::super::publisher::staged_directory(root.path(), FileLayout::Plain, LINEAGE);
    let staged = |name: &str| fs::metadata(staged_directory.join(name)).expect("a file").len();
    let name = super::super::disk::names(&staged_directory).expect("files").remove(0);
    let mut staging = writer.stage(Epoch(1)).expect("it stages");
    assert_eq!((steps.load(Ordering::SeqCst), staged(&name)), (before, 0), "nothing is written or synced");
    staging().expect("durable");
    assert!(steps.load(Ordering::SeqCst) > before && staged(&name) == 4);
}

#[test]
fn a_value_that_cannot_be_a_line_fails_the_epoch_before_its_manifest() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let sink = StagedFileSink::new(options(root.path(), layout));
        let mut writer = open(&sink);
        let refused = writer.write(&batch(&["one", "t\nwo"])).expect_err("two lines");
        assert_eq!(refused.code(), Some("E0323"));
        let again = writer.stage(Epoch(1)).err().expect("the epoch cannot be staged");
        assert_eq!(again.to_string(), refused.to_string());
        drop(writer);
        assert_eq!(tree(root.path()), [".tidegate/owner.json"]);
    }
}

#[test]
fn a_staging_that_fails_fails_the_writer_too() {
    let root = tempfile::tempdir().expect("a directory");
    let mut sink = StagedFileSink::new(options(root.path(), FileLayout::Plain));
    let is_full = Arc::new(AtomicUsize::new(0));
    let full = Arc::clone(&is_full);
    sink.disk.before_step = Some(Arc::new(move |_, _| match full.load(Ordering::SeqCst) {
        0 => Ok(()),
        _ => Err(std::io::Error::other("no space left")),
    }));
    let mut writer = open(&sink);
    writer.write(&batch(&["one"])).expect("written");
    let mut staging = writer.stage(Epoch(1)).expect("it stages");
    is_full.store(1, Ordering::SeqCst);
    let failed = staging().expect_err("it is not durable");
    is_full.store(0, Ordering::SeqCst);
    assert_eq!((failed.code(), failed.retry()), (Some("E0322"), Retry::RestoreFirst));
    for again in [writer.write(&batch(&["two"])), writer.flush(), writer.stage(Epoch(2)).map(|_| ()), writer.close()] {
        assert_eq!(again.expect_err("what follows would hide the gap").to_string(), failed.to_string());
    }
}

#[test]
fn what_is_staged_and_never_made_durable_is_removed() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(root.path(), FileLayout::Commits));
    let mut writer = open(&sink);
    writer.write(&batch(&["one"])).expect("written");
    drop(writer.stage(Epoch(1)).expect("it stages"));
    assert_eq!(tree(root.path()), [".tidegate/owner.json"]);
}

#[test]
fn a_file_that_cannot_be_begun_while_the_job_runs_is_a_failure_that_may_pass() {
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let mut writer = open(&StagedFileSink::new(options(root.path(), layout)));
        fs::remove_dir_all(root.path()).expect("it can be taken away");
        let error = writer.write(&batch(&["a record"])).expect_err("nothing can be made there");
        assert_eq!((error.code(), error.retry()), (Some("E0322"), Retry::RestoreFirst), "{error}");
    }
}

#[test]
fn every_file_of_a_csv_sink_begins_with_its_header_line_where_one_is_wanted() {
    let columns = ["id", "a;b", "said \"so\""].map(str::to_owned).to_vec();
    let header = "id;\"a;b\";\"said \"\"so\"\"\"";
    for layout in LAYOUTS {
        let root = tempfile::tempdir().expect("a directory");
        let format = FormatSpec::Csv(CsvSpec { delimiter: b';', columns: columns.clone(), header: true });
        let sink = StagedFileSink::new(StagedFileSinkOptions { format, ..options(root.path(), layout) });
        let (mut writer, mut publisher) = (open(&sink), publisher(&sink));
        for epoch in 1..=2 {
            let staged = stage(&mut *writer, epoch, &["1;2;3"]);
            assert_eq!(staged[0].records, 1, "the header is no record");
            publisher.publish(Epoch(epoch), &staged).expect("published");
        }
        assert_eq!(texts(root.path(), layout), [header, "1;2;3", header, "1;2;3"]);
        // An epoch without records has no file.
        assert!(writer.stage(Epoch(3)).expect("it stages")().expect("durable").is_empty());
    }
}

/// Handles of this process on files below a directory.
fn handles_below(root: &Path) -> usize {
    let handles = fs::read_dir("/proc/self/fd").expect("this process").flatten();
    handles.filter(|handle| fs::read_link(handle.path()).is_ok_and(|file| file.starts_with(root))).count()
}

#[test]
fn an_epoch_of_many_files_keeps_few_of_them_open() {
    let root = tempfile::tempdir().expect("a directory");
    let options = StagedFileSinkOptions { roll_bytes: 1, ..options(root.path(), FileLayout::Commits) };
    let mut writer = open(&StagedFileSink::new(options));
    let values: Vec<String> = (0..5_000).map(|row| format!("{row:064}")).collect();
    for _ in 0..40 {
        writer.write(&batch(&values)).expect("written");
        assert!(handles_below(root.path()) <= 9, "{} files are open", handles_below(root.path()));
    }
    let staged = writer.stage(Epoch(1)).expect("it stages")().expect("durable");
    assert_eq!((staged.len(), handles_below(root.path())), (40, 0));
    assert_eq!(staged.iter().map(|output| output.records).sum::<u64>(), 40 * 5_000);
}

#[test]
fn a_file_that_could_not_be_synced_is_lost_even_if_there_was_no_room() {
    let root = tempfile::tempdir().expect("a directory");
    let mut sink = StagedFileSink::new(options(root.path(), FileLayout::Plain));
    let syncs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&syncs);
    sink.disk.before_step = Some(Arc::new(move |doing, _| match doing {
        "sync" if counted.fetch_add(1, Ordering::SeqCst) == 0 => Err(std::io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    }));
    let mut writer = open(&sink);
    writer.write(&batch(&["one"])).expect("written");
    let mut staging = writer.stage(Epoch(1)).expect("it stages");
    let failed = staging().expect_err("the system forgot it");
    assert_eq!((failed.retry(), failed.is_out_of_room()), (Retry::RestoreFirst, true));
    assert_eq!(staging().expect_err("a second sync would succeed and mean nothing").to_string(), failed.to_string());
    assert_eq!(syncs.load(Ordering::SeqCst), 1);
}

#[test]
fn a_system_without_handles_is_waited_for_and_a_process_without_is_started_again() {
    let root = tempfile::tempdir().expect("a directory");
    let mut sink = StagedFileSink::new(options(root.path(), FileLayout::Plain));
    let is_out = Arc::new(AtomicUsize::new(0));
    let out = Arc::clone(&is_out);
    let (of_process, of_system) = (24, 23);
    sink.disk.before_step = Some(Arc::new(move |doing, _| match (doing, out.load(Ordering::SeqCst)) {
        ("begin", 1) | ("sync the directory", 2) => Err(std::io::Error::from_raw_os_error(of_system)),
        ("begin", 3) => Err(std::io::Error::from_raw_os_error(of_process)),
        _ => Ok(()),
    }));
    let mut writer = open(&sink);
    is_out.store(1, Ordering::SeqCst);
    for _ in 0..2 {
        let refused = writer.write(&batch(&["one"])).expect_err("no handle is left");
        assert_eq!((refused.retry(), refused.is_out_of_room()), (Retry::Backoff, false), "{refused}");
    }
    is_out.store(2, Ordering::SeqCst);
    writer.write(&batch(&["one"])).expect("written");
    let mut staging = writer.stage(Epoch(1)).expect("it stages");
    assert_eq!(staging().expect_err("no handle is left").retry(), Retry::Backoff);
    is_out.store(0, Ordering::SeqCst);
    let staged = staging().expect("durable");
    publisher(&sink).publish(Epoch(1), &staged).expect("published");
    assert_eq!(texts(root.path(), FileLayout::Plain), ["one"]);
    is_out.store(3, Ordering::SeqCst);
    assert_eq!(writer.write(&batch(&["two"])).expect_err("no handle is left").retry(), Retry::RestoreFirst);
}
