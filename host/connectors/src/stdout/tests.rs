use std::io;
use std::sync::{Arc, Mutex};

use contract::SinkWriter;
use model::{Column, RecordBatch, Values};

use super::{LineWriter, READER_GONE};
use crate::file::LineStyle;

/// Keeps the blocks that it was given, or refuses them.
#[derive(Clone, Default)]
struct Blocks {
    written: Arc<Mutex<Vec<Vec<u8>>>>,
    refuse: Option<io::ErrorKind>,
}

impl io::Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(kind) = self.refuse {
            return Err(kind.into());
        }
        self.written.lock().expect("one thread").push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn batch(values: &[&str]) -> RecordBatch {
    let column: Column = values.iter().collect();
    RecordBatch { values: Values::from(column), ..RecordBatch::default() }
}

#[test]
fn a_person_sees_every_batch_at_once_and_a_pipe_gets_blocks() {
    for (is_terminal, blocks) in [(true, 2), (false, 1)] {
        let out = Blocks::default();
        let mut writer = LineWriter::new(out.clone(), LineStyle::Json, is_terminal);
        writer.write(&batch(&["1", "2"])).expect("written");
        writer.write(&batch(&["3"])).expect("written");
        writer.flush().expect("flushed");
        let written = out.written.lock().expect("one thread");
        assert_eq!(written.iter().filter(|block| !block.is_empty()).count(), blocks);
        assert_eq!(written.concat(), b"1\n2\n3\n");
    }
}

#[test]
fn a_reader_that_has_gone_is_told_apart_from_a_failure() {
    for (kind, code) in [(io::ErrorKind::BrokenPipe, READER_GONE), (io::ErrorKind::StorageFull, "E0331")] {
        let mut writer = LineWriter::new(Blocks { refuse: Some(kind), ..Blocks::default() }, LineStyle::Json, true);
        let error = writer.write(&batch(&["1"])).expect_err("refused");
        assert_eq!(error.code(), Some(code));
    }
}
