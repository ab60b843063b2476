mod directory;
mod formats;
mod kills;
mod listing;
mod writing;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::compliance::staging;
use contract::{Publisher, Sink, SinkWriter, StagedOutput, WriterTask};
use model::job::{FormatSpec, SinkCompression};
use model::{Epoch, Generation, LineageId, OptionalColumn, Parallelism, RecordBatch, SubtaskIndex, Values};

use super::{Condition, DEFAULT_ROLL_BYTES, FileLayout, StagedFileSink, StagedFileSinkOptions, committed_files};

const LINEAGE: LineageId = LineageId(0xfeed);
const LAYOUTS: [FileLayout; 2] = [FileLayout::Commits, FileLayout::Plain];

fn options(path: &Path, layout: FileLayout) -> StagedFileSinkOptions {
    StagedFileSinkOptions {
        path: path.to_owned(),
        layout,
        compression: SinkCompression::None,
        format: FormatSpec::Raw,
        roll_bytes: DEFAULT_ROLL_BYTES,
        owner: "job `orders`, sink `clean`".to_owned(),
        takes_over: None,
    }
}

fn batch<V: AsRef<[u8]>>(values: &[V]) -> RecordBatch {
    let mut column = OptionalColumn::default();
    values.iter().for_each(|value| column.push(Some(value.as_ref())));
    RecordBatch { values: Values::from(column), ..RecordBatch::default() }
}

fn task(lineage: LineageId, generation: u64) -> WriterTask {
    WriterTask { subtask: SubtaskIndex(0), parallelism: Parallelism(1), lineage, generation: Generation(generation) }
}

fn open(sink: &StagedFileSink) -> Box<dyn SinkWriter> {
    sink.open(&task(LINEAGE, 1)).expect("it opens")
}

fn publisher(sink: &StagedFileSink) -> Box<dyn Publisher> {
    sink.publisher(LINEAGE).expect("it has a publisher").expect("it stages")
}

/// Writes values and stages them.
fn stage(writer: &mut dyn SinkWriter, epoch: u64, values: &[&str]) -> Vec<StagedOutput> {
    writer.write(&batch(values)).expect("it takes a batch");
    writer.stage(Epoch(epoch)).expect("it stages")().expect("it becomes durable")
}

fn lines_of(path: &Path) -> Vec<Vec<u8>> {
    let mut bytes = fs::read(path).expect("a file");
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut unpacked = Vec::new();
        flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut unpacked).expect("gzip");
        bytes = unpacked;
    }
    assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "`{}` ends in the middle of a line", path.display());
    bytes.split_inclusive(|&byte| byte == b'\n').map(|line| line[..line.len() - 1].to_vec()).collect()
}

/// The parts of a plain directory, in the order of their names.
fn parts(directory: &Path) -> Vec<String> {
    super::disk::names(directory).expect("a directory").into_iter().filter(|name| !name.starts_with('.')).collect()
}

/// What a reader that follows the rules of the layout sees.
fn visible(directory: &Path, layout: FileLayout) -> Vec<Vec<u8>> {
    match layout {
        FileLayout::Plain => parts(directory).iter().flat_map(|name| lines_of(&directory.join(name))).collect(),
        FileLayout::Commits if !directory.join("_commits").exists() => Vec::new(),
        FileLayout::Commits => {
            let committed = committed_files(directory).expect("commits can be read");
            assert!(committed.is_whole(), "{committed:?}");
            committed.files.iter().flat_map(|file| lines_of(&file.path)).collect()
        }
    }
}

fn texts(directory: &Path, layout: FileLayout) -> Vec<String> {
    let lines = visible(directory, layout).into_iter();
    lines.map(|line| String::from_utf8(line).expect("a text")).collect()
}

/// Every file under a directory, by its path from there.
fn tree(directory: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(tree(&path).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            files.push(name);
        }
    }
    files.sort_unstable();
    files
}

#[test]
fn both_layouts_keep_every_promise() {
    for (layout, compression) in LAYOUTS
        .iter()
        .flat_map(|&layout| [SinkCompression::None, SinkCompression::Gzip].map(|compression| (layout, compression)))
    {
        staging::check(&|| {
            let root = tempfile::tempdir().expect("a directory");
            let path = root.path().join("out");
            let options = StagedFileSinkOptions { compression, ..options(&path, layout) };
            let is_full = Arc::new(AtomicBool::new(false));
            let filled = Arc::clone(&is_full);
            staging::Trial {
                start: Box::new(move || {
                    let mut sink = StagedFileSink::new(options.clone());
                    let is_full = Arc::clone(&is_full);
                    sink.disk.before_step = Some(Arc::new(move |doing, _| match doing {
                        "begin" | "write to" if is_full.load(Ordering::SeqCst) => {
                            Err(std::io::ErrorKind::StorageFull.into())
                        }
                        _ => Ok(()),
                    }));
                    Box::new(sink)
                }),
                fill: Box::new(move |is_full| filled.store(is_full, Ordering::SeqCst)),
                visible: Box::new(move || {
                    let _alive = &root;
                    visible(&path, layout)
                }),
            }
        });
    }
}

#[test]
fn listed_files_are_whole_after_they_were_published() {
    let root = tempfile::tempdir().expect("a directory");
    let sink = StagedFileSink::new(options(root.path(), FileLayout::Commits));
    let staged = stage(&mut *open(&sink), 1, &["one"]);
    publisher(&sink).publish(Epoch(1), &staged).expect("published");
    let committed = committed_files(root.path()).expect("commits");
    assert_eq!(committed.files.len(), 1);
    assert_eq!(committed.files[0].condition, Condition::Whole);
    assert_eq!((committed.files[0].records, committed.files[0].bytes), (1, 4));
    assert!(committed.not_listed.is_empty());
}
