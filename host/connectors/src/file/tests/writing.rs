use contract::{Sink, WriterTask};
use model::job::SinkCompression;
use model::{Epoch, OptionalColumn, Parallelism, RecordBatch, SubtaskIndex, Values};

use super::super::{FileSink, FileSinkOptions};
use super::*;

fn sink(path: &Path, format: FormatSpec) -> FileSinkOptions {
    FileSinkOptions { path: path.to_owned(), compression: SinkCompression::None, overwrite: false, format }
}

fn batch(values: &[Option<&str>]) -> RecordBatch {
    let mut column = OptionalColumn::default();
    values.iter().for_each(|value| column.push(value.map(str::as_bytes)));
    RecordBatch { values: Values::from(column), ..RecordBatch::default() }
}

/// Writes batches as subtask 0 of `parallelism`, and closes.
fn write(options: FileSinkOptions, parallelism: u32, batches: &[RecordBatch]) -> Result<(), contract::Error> {
    let mut writer = FileSink::new(options).open(&WriterTask::plain(SubtaskIndex(0), Parallelism(parallelism)))?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    writer.close()
}

#[test]
fn records_become_lines_of_a_part_for_each_subtask() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out/deep");
    let sink = FileSink::new(sink(&path, FormatSpec::Json));
    for subtask in 0..2 {
        let mut writer = sink.open(&WriterTask::plain(SubtaskIndex(subtask), Parallelism(2))).expect("opened");
        writer.write(&batch(&[Some("1"), Some("{\n\"a\":\r\n1}"), None])).expect("written");
        writer.close().expect("closed");
    }
    for name in ["part-00000.jsonl", "part-00001.jsonl"] {
        assert_eq!(std::fs::read_to_string(path.join(name)).expect("a part"), "1\n{ \"a\":  1}\nnull\n");
    }
}

#[test]
fn a_tombstone_is_an_empty_line_where_there_is_no_word_for_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out.txt");
    write(sink(&path, FormatSpec::Raw), 1, &[batch(&[None, Some("a")])]).expect("written");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "\na\n");
}

#[test]
fn a_raw_value_with_a_line_break_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let refused = write(sink(directory.path(), FormatSpec::Raw), 1, &[batch(&[Some("a"), Some("b\nc")])]);
    let refused = refused.expect_err("two lines");
    assert_eq!(refused.code(), Some("E0323"));
    assert!(refused.to_string().ends_with("`b\\nc`"), "{refused}");
}

#[test]
fn what_is_there_already_is_kept_unless_the_options_say_otherwise() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("part-00000.jsonl"), "old\n").expect("a file");
    let refused = write(sink(path, FormatSpec::Json), 1, &[]).expect_err("it is there");
    assert_eq!(refused.code(), Some("E0320"));
    let overwriting = FileSinkOptions { overwrite: true, ..sink(path, FormatSpec::Json) };
    write(overwriting, 1, &[batch(&[Some("1")])]).expect("written");
    assert_eq!(std::fs::read_to_string(path.join("part-00000.jsonl")).expect("a part"), "1\n");
}

#[test]
fn parts_of_more_subtasks_than_now_do_not_stay_beside_ours() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("part-00003.jsonl"), "old\n").expect("a file");
    std::fs::write(path.join("notes.txt"), "mine\n").expect("a file");
    let refused = write(sink(path, FormatSpec::Json), 1, &[]).expect_err("it is there");
    assert!(refused.to_string().contains("part-00003.jsonl"), "{refused}");
    write(FileSinkOptions { overwrite: true, ..sink(path, FormatSpec::Json) }, 1, &[]).expect("written");
    assert!(!path.join("part-00003.jsonl").exists() && path.join("notes.txt").exists());
}

#[test]
fn what_is_replaced_stays_until_the_first_record_or_the_close() {
    for writes in [false, true] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let parts = ["part-00000.jsonl", "part-00001.jsonl", "part-00000.csv"].map(|name| path.join(name));
        for part in &parts {
            std::fs::write(part, "an old line\n").expect("a file");
        }
        let now = || parts.clone().map(|part| std::fs::read_to_string(part).ok());
        let old = [(); 3].map(|()| Some("an old line\n".to_owned()));
        let sink = FileSink::new(FileSinkOptions { overwrite: true, ..sink(path, FormatSpec::Json) });

        // As when another part of the job cannot be opened.
        drop(sink.open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).expect("opened"));
        assert_eq!(now(), old);

        let mut writer = sink.open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).expect("nobody has it");
        writer.flush().expect("nothing to write");
        assert_eq!(now(), old);
        let refused = FileSink::new(FileSinkOptions { overwrite: true, ..self::sink(path, csv()) });
        let refused =
            refused.open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).err().expect("its part is to be removed");
        assert_eq!(refused.code(), Some("E0324"), "{refused}");
        assert_eq!(now(), old);

        if writes {
            writer.write(&batch(&[Some("1")])).expect("written");
            assert_eq!(now(), [Some(String::new()), None, None]);
        }
        writer.close().expect("closed");
        let new = if writes { "1\n" } else { "" };
        assert_eq!(now(), [Some(new.to_owned()), None, None]);
    }
}

#[test]
fn a_path_with_a_files_ending_is_one_file_for_one_subtask() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out.jsonl");
    let refused = write(sink(&path, FormatSpec::Json), 2, &[]).expect_err("two writers");
    assert_eq!(refused.code(), Some("E0321"));
    write(sink(&path, FormatSpec::Json), 1, &[batch(&[Some("1")])]).expect("written");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), "1\n");
}

#[test]
fn a_packed_file_is_whole_after_every_flush_and_read_back_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = FileSinkOptions { compression: SinkCompression::Gzip, ..sink(directory.path(), FormatSpec::Json) };
    let mut writer = FileSink::new(options).open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).expect("opened");
    writer.write(&batch(&[Some("1"), Some("2")])).expect("written");
    writer.flush().expect("flushed");
    writer.write(&batch(&[Some("3")])).expect("written");
    // What was not flushed is lost, and nothing else.
    drop(writer);
    assert_eq!(read(super::options(directory.path(), FormatSpec::Json)).texts(), ["1", "2"]);
}

#[test]
fn a_dropped_writer_leaves_whole_records() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut writer = FileSink::new(sink(directory.path(), FormatSpec::Json))
        .open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1)))
        .expect("opened");
    let values: Vec<String> = (0..100_000).map(|n| format!("{{\"n\":{n}}}")).collect();
    let values: Vec<Option<&str>> = values.iter().map(|value| Some(value.as_str())).collect();
    writer.write(&batch(&values)).expect("written");
    drop(writer);
    let text = std::fs::read_to_string(directory.path().join("part-00000.jsonl")).expect("a part");
    assert!(text.ends_with("}\n") && text.len() > 256 * 1024);
}

#[test]
fn a_target_that_refuses_is_an_error_with_its_name() {
    let full = FileSinkOptions { overwrite: true, ..sink(Path::new("/dev/full"), FormatSpec::Json) };
    let refused = write(full, 1, &[batch(&[Some("1")])]).expect_err("not a directory");
    assert_eq!(refused.code(), Some("E0301"));
    assert!(refused.to_string().contains("/dev/full"), "{refused}");
}

#[test]
fn a_file_sink_keeps_the_promises_of_a_sink() {
    for compression in [SinkCompression::None, SinkCompression::Gzip] {
        contract::compliance::sink::check(&|| {
            let directory = tempfile::tempdir().expect("a directory");
            let options = FileSinkOptions { compression, ..sink(directory.path(), FormatSpec::Json) };
            let target = move || {
                let seen = read(super::options(directory.path(), FormatSpec::Json));
                seen.records.into_iter().map(|(_, _, value)| value).collect()
            };
            contract::compliance::sink::Trial { sink: Box::new(FileSink::new(options)), target: Box::new(target) }
        });
    }
}

#[test]
fn a_file_has_one_writer_by_whatever_name_it_comes() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out");
    std::fs::create_dir(&path).expect("a directory");
    std::os::unix::fs::symlink(&path, directory.path().join("other-name")).expect("a link");
    for overwrite in [false, true] {
        let open = |path: &Path, format| {
            FileSink::new(FileSinkOptions { overwrite, ..sink(path, format) })
                .open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1)))
        };
        let mut first = open(&path, FormatSpec::Json).expect("the first opens");
        first.write(&batch(&[Some("1")])).expect("written");
        for other_name in [path.join("../out/."), directory.path().join("other-name")] {
            let refused = open(&other_name, FormatSpec::Json).err().expect("there is a writer");
            assert_eq!(refused.code(), Some("E0324"), "{refused}");
        }
        if overwrite {
            let refused = open(&path, FormatSpec::Raw).err().expect("the other's part is in use");
            assert_eq!(refused.code(), Some("E0324"), "{refused}");
        }
        first.close().expect("closed");
        assert_eq!(std::fs::read_to_string(path.join("part-00000.jsonl")).expect("a part"), "1\n");
        std::fs::remove_file(path.join("part-00000.jsonl")).expect("removed");
    }
}

#[test]
fn a_file_is_free_again_when_its_writer_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let sink = FileSink::new(sink(directory.path(), FormatSpec::Json));
    for _ in 0..2 {
        drop(sink.open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).expect("nobody writes it"));
    }
}

#[test]
fn only_files_with_the_names_of_parts_are_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let foreign =
        ["part-00000-5f3a.parquet", "part-00007.parquet", "part-7.jsonl", "part-00007.jsonl.bak", "part-000x7.csv"];
    let parts = ["part-00007.jsonl", "part-00000.csv.gz", "part-123456.txt"];
    let overwriting = || FileSinkOptions { overwrite: true, ..sink(path, FormatSpec::Json) };
    for name in foreign.iter().chain(&parts) {
        std::fs::write(path.join(name), "old\n").expect("a file");
    }
    write(overwriting(), 1, &[]).expect("written");
    let is_there = |name: &&str| path.join(name).exists();
    assert!(foreign.iter().all(is_there), "{:?}", foreign.map(|name| is_there(&name)));
    assert!(!parts.iter().any(is_there), "{:?}", parts.map(|name| is_there(&name)));
}

#[test]
fn without_overwrite_nothing_is_removed() {
    let directory = tempfile::tempdir().expect("a directory");
    let other = directory.path().join("part-00000.csv");
    std::fs::write(&other, "").expect("a file");
    write(sink(directory.path(), FormatSpec::Json), 1, &[]).expect("an empty part mixes with nothing");
    assert!(other.exists());
}

#[test]
fn a_failure_stands() {
    contract::compliance::sink::check_failing(&|| {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("out.jsonl");
        std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
        let options = FileSinkOptions { overwrite: true, ..sink(&path, FormatSpec::Json) };
        (Box::new(FileSink::new(options)), Box::new(directory))
    });
}

fn checkpointed(lineage: u64, generation: u64) -> WriterTask {
    WriterTask {
        lineage: model::LineageId(lineage),
        generation: model::Generation(generation),
        ..WriterTask::plain(SubtaskIndex(0), Parallelism(1))
    }
}

fn write_as(options: &FileSinkOptions, task: &WriterTask, value: &str) -> Result<(), contract::Error> {
    let mut writer = FileSink::new(options.clone()).open(task)?;
    writer.write(&batch(&[Some(value)]))?;
    writer.close()
}

#[test]
fn each_generation_of_a_job_with_checkpoints_has_parts_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    for overwrite in [false, true] {
        let options = FileSinkOptions { overwrite, ..sink(path, FormatSpec::Json) };
        write_as(&options, &checkpointed(7, 1 + 2 * u64::from(overwrite)), "1").expect("written");
        write_as(&options, &checkpointed(7, 2 + 2 * u64::from(overwrite)), "2").expect("what was there stays");
    }
    assert_eq!(std::fs::read_dir(path).expect("a directory").count(), 4);
    // Another history, and a job without checkpoints, would mix with them.
    for other in [checkpointed(8, 1), WriterTask::plain(SubtaskIndex(0), Parallelism(1))] {
        let refused = write_as(&sink(path, FormatSpec::Json), &other, "3").expect_err("it is there");
        assert_eq!(refused.code(), Some("E0320"));
    }
    let replacing = FileSinkOptions { overwrite: true, ..sink(path, FormatSpec::Json) };
    write_as(&replacing, &checkpointed(8, 1), "3").expect("replaced");
    assert_eq!(std::fs::read_dir(path).expect("a directory").count(), 1);
}

#[test]
fn one_file_of_a_job_with_checkpoints_is_written_on_behind_its_last_whole_record() {
    for (compression, name) in [(SinkCompression::None, "out.jsonl"), (SinkCompression::Gzip, "out.jsonl.gz")] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(name);
        std::fs::write(&path, "of somebody else\n").expect("a file");
        let options = FileSinkOptions { compression, ..sink(&path, FormatSpec::Json) };
        for generation in 1..3 {
            let refused = write_as(&options, &checkpointed(7, generation), "0").expect_err("it is there");
            assert_eq!(refused.code(), Some("E0320"));
        }
        let replacing = FileSinkOptions { overwrite: true, ..options.clone() };
        write_as(&replacing, &checkpointed(7, 3), "1").expect("replaced");
        // A process that is killed in the middle of a write leaves a part of it.
        let torn = if compression == SinkCompression::Gzip { gzip(b"torn\n")[..12].to_vec() } else { b"torn".to_vec() };
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("a file");
        file.write_all(&torn).expect("torn");
        write_as(&replacing, &checkpointed(7, 4), "2").expect("written on");
        write_as(&options, &checkpointed(7, 5), "3").expect("written on without leave to replace");
        assert_eq!(read(super::options(&path, FormatSpec::Json)).texts(), ["1", "2", "3"], "{name}");
        let refused = write_as(&options, &checkpointed(8, 1), "4").expect_err("it is another history's");
        assert_eq!(refused.code(), Some("E0320"));
    }
}

#[test]
fn an_epoch_is_not_staged_before_its_records_outlive_a_loss_of_power() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("out.jsonl");
    // It takes what is written, and cannot be synced.
    std::os::unix::fs::symlink("/dev/null", &path).expect("a link");
    let sink = FileSink::new(sink(&path, FormatSpec::Json));
    let mut writer = sink.open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).expect("opened");
    writer.write(&batch(&[Some("1")])).expect("written");
    let mut staging = writer.stage(Epoch(1)).expect("handed over");
    let error = staging().expect_err("it is not durable");
    assert_eq!(error.code(), Some("E0322"), "{error}");
    assert!(writer.write(&batch(&[Some("2")])).is_err(), "the failure stands for all");
}
