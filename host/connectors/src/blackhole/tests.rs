use contract::{Sink, WriterTask};
use model::{Column, Parallelism, RecordBatch, SubtaskIndex, Values};

use super::BlackholeSink;

#[test]
fn records_and_bytes_of_all_subtasks_are_counted() {
    let sink = BlackholeSink::new();
    let column: Column = ["ab", "c"].iter().collect();
    for subtask in 0..2 {
        let mut writer = sink.open(&WriterTask::plain(SubtaskIndex(subtask), Parallelism(2))).expect("opened");
        writer.write(&RecordBatch { values: Values::from(column.clone()), ..RecordBatch::default() }).expect("written");
        writer.close().expect("closed");
    }
    assert_eq!((sink.swallowed().records(), sink.swallowed().bytes()), (4, 6));
}
