use std::io;
use std::sync::{Arc, Mutex};

use contract::compliance::sink::{Trial, check, check_failing};
use contract::{Sink, SinkWriter, WriterTask};
use model::{Column, RecordBatch, Values};

use super::{LineWriter, READER_GONE};
use crate::file::LineStyle;

/// Keeps the blocks that it was given, or refuses them.
#[derive(Clone, Default)]
struct Target {
    written: Arc<Mutex<Vec<Vec<u8>>>>,
    refuse: Option<io::ErrorKind>,
}

impl io::Write for Target {
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
        let out = Target::default();
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
        let mut writer = LineWriter::new(Target { refuse: Some(kind), ..Target::default() }, LineStyle::Json, true);
        let error = writer.write(&batch(&["1"])).expect_err("refused");
        assert_eq!(error.code(), Some(code));
    }
}

/// Standard output that goes to a target, on a terminal or not.
struct Redirected(Target, bool);

impl Sink for Redirected {
    fn open(&self, _task: &WriterTask) -> Result<Box<dyn SinkWriter>, contract::Error> {
        Ok(Box::new(LineWriter::new(self.0.clone(), LineStyle::Json, self.1)))
    }
}

#[test]
fn standard_output_keeps_the_promises_of_a_sink() {
    for is_terminal in [false, true] {
        check(&|| {
            let to = Target::default();
            let sink = Box::new(Redirected(to.clone(), is_terminal));
            let target = move || {
                let text = to.written.lock().expect("one thread").concat();
                let lines = text.split_inclusive(|&byte| byte == b'\n');
                lines.map(|line| line.strip_suffix(b"\n").expect("whole lines").to_vec()).collect()
            };
            Trial { sink, target: Box::new(target) }
        });
        for kind in [io::ErrorKind::BrokenPipe, io::ErrorKind::StorageFull] {
            let refusing = Target { refuse: Some(kind), ..Target::default() };
            check_failing(&|| (Box::new(Redirected(refusing.clone(), is_terminal)), Box::new(())));
        }
    }
}
