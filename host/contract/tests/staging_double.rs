//! The faults of the exactly-once sink in memory are as a test asks for them.

use contract::doubles::MemorySink;
use contract::{Error, Publisher, Sink, SinkWriter, StagedOutput, WriterTask};
use model::{
    Epoch, EventTime, Generation, LineageId, OptionalColumn, Origins, Parallelism, Position, RecordBatch, Retry,
    SourceId, SplitIndex, SubtaskIndex, Values,
};

const LINEAGE: LineageId = LineageId(1);

fn batch(value: &str) -> RecordBatch {
    let mut column = OptionalColumn::default();
    column.push(Some(value.as_bytes()));
    let mut origins = Origins::default();
    origins.push(SourceId(0), SplitIndex(0), Position(0));
    RecordBatch {
        values: Values::from(column),
        timestamps: vec![EventTime::UNKNOWN],
        origins,
        ..RecordBatch::default()
    }
}

fn open(sink: &MemorySink) -> Box<dyn SinkWriter> {
    let task = WriterTask {
        subtask: SubtaskIndex(0),
        parallelism: Parallelism(1),
        lineage: LINEAGE,
        generation: Generation(1),
    };
    sink.open(&task).expect("it opens")
}

fn stage(writer: &mut dyn SinkWriter, epoch: u64, value: &str) -> Result<Vec<StagedOutput>, Error> {
    writer.write(&batch(value))?;
    writer.stage(Epoch(epoch))?()
}

fn publisher(sink: &MemorySink, lineage: LineageId) -> Result<Box<dyn Publisher>, Error> {
    Ok(sink.publisher(lineage)?.expect("it stages"))
}

#[test]
fn a_staging_that_fails_fails_the_writer_too() {
    let sink = MemorySink::default().exactly_once().failing_to_stage(Epoch(2), "the disk is full");
    let mut writer = open(&sink);
    stage(&mut *writer, 1, "one").expect("the first epoch is staged");
    let failed = stage(&mut *writer, 2, "two").expect_err("the second is not");
    let again = writer.write(&batch("three")).expect_err("what follows would hide the gap");
    assert_eq!((failed.to_string(), again.to_string()), ("the disk is full".to_owned(), failed.to_string()));
    sink.heal_staging();
    stage(&mut *open(&sink), 2, "two again").expect("another writer stages it");
    assert_eq!(sink.staged().len(), 2);
}

#[test]
fn a_publisher_fails_as_often_as_it_is_told() {
    let sink = MemorySink::default().exactly_once();
    let staged = stage(&mut *open(&sink), 1, "one").expect("it is staged");
    let mut publisher = publisher(&sink, LINEAGE).expect("it opens");
    sink.fail_to_publish(2, "the target is away");
    for _ in 0..2 {
        let failed = publisher.publish(Epoch(1), &staged).expect_err("it fails");
        assert_eq!(failed.retry(), Retry::Backoff);
        assert!(sink.texts().is_empty(), "nothing is visible");
    }
    publisher.publish(Epoch(1), &staged).expect("the third time it does not");
    assert_eq!((sink.texts(), sink.publish_calls()), (vec!["one".to_owned()], 3));
}

#[test]
fn an_answer_that_is_lost_has_taken_effect() {
    let sink = MemorySink::default().exactly_once();
    let staged = stage(&mut *open(&sink), 1, "one").expect("it is staged");
    sink.lose_answers(1);
    let mut first = publisher(&sink, LINEAGE).expect("it opens");
    first.publish(Epoch(1), &staged).expect_err("the answer is lost");
    assert_eq!(sink.texts(), ["one"]);
    publisher(&sink, LINEAGE).expect("it opens").publish(Epoch(1), &staged).expect("the ledger says that it is done");
    assert_eq!((sink.texts().len(), sink.published()), (1, vec![(LINEAGE, Epoch(1))]));
}

#[test]
fn a_publisher_of_an_older_lineage_is_refused() {
    let sink = MemorySink::default().exactly_once();
    let staged = stage(&mut *open(&sink), 1, "one").expect("it is staged");
    let mut old = publisher(&sink, LINEAGE).expect("it opens");
    publisher(&sink, LineageId(2)).expect("another lineage takes its place");
    let refused = old.publish(Epoch(1), &staged).expect_err("it is closed");
    assert_eq!(refused.retry(), Retry::No);
    assert!(old.last_published().is_err() && publisher(&sink, LINEAGE).is_err());
    assert!(sink.texts().is_empty());
}

#[test]
fn what_is_gone_is_not_published() {
    let sink = MemorySink::default().exactly_once();
    let staged = stage(&mut *open(&sink), 1, "one").expect("it is staged");
    let mut publisher = publisher(&sink, LINEAGE).expect("it opens");
    assert_eq!(publisher.discard_orphans(&[], Generation(2)).expect("it looks"), 1);
    let gone = publisher.publish(Epoch(1), &staged).expect_err("it is gone");
    assert_eq!(gone.retry(), Retry::No);
}
