//! What every [`Sink`] promises.

use model::{EventTime, Origins, Parallelism, Position, RecordBatch, SourceId, SplitIndex, SubtaskIndex, Values};

use crate::{Error, Sink, SinkWriter, WriterTask};

/// A sink to try, and a way to see which values are with its target, in order.
pub struct Trial {
    /// The sink, over an empty target of its own.
    pub sink: Box<dyn Sink>,
    /// What the target holds now.
    pub target: Box<dyn Fn() -> Vec<Vec<u8>>>,
}

/// Runs every promise; `make` gives a new sink over a new, empty target.
///
/// # Panics
/// When one is broken.
pub fn check(make: &dyn Fn() -> Trial) {
    records_leave_in_order(make());
    what_is_flushed_is_with_the_target(make());
    an_empty_batch_changes_nothing(make());
    a_dropped_writer_leaves_no_half_record(make());
}

/// A sink whose target opens and takes nothing, and what has to live as long as it.
pub type Failing = (Box<dyn Sink>, Box<dyn std::any::Any>);

/// Checks that a failure stands: whatever is called after it fails in the same way.
///
/// # Panics
/// When it does not, or when nothing fails.
pub fn check_failing(make: &dyn Fn() -> Failing) {
    type Call = fn(&mut dyn SinkWriter) -> Result<(), Error>;
    let write: Call = |writer| writer.write(&batch_of(&["a record"]));
    let calls: [(&str, Call); 4] = [
        ("write", write),
        ("write of nothing", |writer| writer.write(&RecordBatch::default())),
        ("flush", |writer| writer.flush()),
        ("close", |writer| writer.close()),
    ];
    for (name, call) in calls {
        let (sink, _alive) = make();
        let mut writer = sink.open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).expect("it opens");
        let first = write(&mut *writer).and_then(|()| writer.flush()).and_then(|()| writer.close());
        let first = first.expect_err("its target takes nothing");
        for _ in 0..2 {
            let again = call(&mut *writer).expect_err(name);
            assert_eq!((again.code(), again.to_string()), (first.code(), first.to_string()), "{name}");
        }
    }
}

fn records_leave_in_order(trial: Trial) {
    let mut writer = open(&trial);
    let mut expected = Vec::new();
    for batch in 0..5 {
        let values: Vec<String> = (0..300).map(|row| format!("record {batch}-{row}")).collect();
        writer.write(&batch_of(&values)).expect("it takes a batch");
        expected.extend(values.into_iter().map(String::into_bytes));
    }
    writer.close().expect("it closes");
    assert!((trial.target)() == expected, "records leave whole and in order");
}

fn what_is_flushed_is_with_the_target(trial: Trial) {
    let mut writer = open(&trial);
    writer.write(&batch_of(&["one", "two"])).expect("it takes a batch");
    writer.flush().expect("it flushes");
    assert_eq!((trial.target)(), [b"one".to_vec(), b"two".to_vec()], "after a flush");
    writer.write(&batch_of(&["three"])).expect("it takes a batch after a flush");
    writer.close().expect("it closes");
    assert_eq!((trial.target)().len(), 3, "after the end");
}

fn an_empty_batch_changes_nothing(trial: Trial) {
    let mut writer = open(&trial);
    writer.write(&RecordBatch::default()).expect("it takes an empty batch");
    writer.write(&batch_of(&["one"])).expect("it takes a batch");
    writer.write(&RecordBatch::default()).expect("it takes an empty batch");
    writer.close().expect("it closes");
    assert_eq!((trial.target)(), [b"one".to_vec()]);
}

fn a_dropped_writer_leaves_no_half_record(trial: Trial) {
    let values: Vec<String> =
        (0..20_000).map(|row| format!("a record that is long enough to fill buffers {row}")).collect();
    let mut writer = open(&trial);
    writer.write(&batch_of(&values)).expect("it takes a batch");
    drop(writer);
    let target = (trial.target)();
    assert!(target.len() <= values.len());
    for (found, written) in target.iter().zip(&values) {
        assert!(found == written.as_bytes(), "found {:?}, written {written:?}", String::from_utf8_lossy(found));
    }
}

fn open(trial: &Trial) -> Box<dyn SinkWriter> {
    trial.sink.open(&WriterTask::plain(SubtaskIndex(0), Parallelism(1))).expect("it opens")
}

pub(super) fn batch_of<V: AsRef<str>>(values: &[V]) -> RecordBatch {
    let mut origins = Origins::default();
    for position in (0u64..).take(values.len()) {
        origins.push(SourceId(0), SplitIndex(0), Position(position));
    }
    let column: model::Column = values.iter().map(AsRef::as_ref).collect();
    RecordBatch {
        values: Values::from(column),
        timestamps: vec![EventTime::UNKNOWN; values.len()],
        origins,
        ..RecordBatch::default()
    }
}
