//! Lines on standard output.
//!
//! On a terminal every batch is shown at once; into a pipe or a file whole blocks are written. Lines of
//! several subtasks do not mix within a line.

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};

use contract::{Sink, SinkWriter, WriterTask};
use model::job::FormatSpec;
use model::{Blame, RecordBatch, Retry};

use crate::failure::FirstFailure;
use crate::file::LineStyle;

/// The code of the error that says that nobody reads our output any more: `tidegate run … | head`. It
/// is the end of the job, not a failure.
pub const READER_GONE: &str = "E0330";

/// What is gathered before a write.
const BUFFER_BYTES: usize = 64 * 1024;

/// Why standard output cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Whoever read our output has gone.
    #[error("write standard output: its reader has gone")]
    ReaderGone,
    /// Writing failed.
    #[error("write standard output")]
    Write {
        /// What the system says.
        source: io::Error,
    },
    /// A value cannot be a line.
    #[error("a value with a line break cannot be a line of standard output: `{sample}`")]
    LineBreak {
        /// The start of the value.
        sample: String,
    },
}

impl From<Error> for contract::Error {
    fn from(error: Error) -> Self {
        let (code, blame, retry, message) = match &error {
            Error::ReaderGone => (READER_GONE, Blame::External, Retry::No, error.to_string()),
            Error::Write { source } => ("E0331", Blame::External, Retry::No, format!("{error}: {source}")),
            Error::LineBreak { .. } => ("E0323", Blame::Config, Retry::No, error.to_string()),
        };
        Self::new(blame, retry, message).with_code(code).with_source(error)
    }
}

/// Standard output.
#[derive(Debug)]
pub struct StdoutSink {
    lines: LineStyle,
}

impl StdoutSink {
    /// A sink for values of a format.
    #[must_use]
    pub fn new(format: &FormatSpec) -> Self {
        Self { lines: LineStyle::of(format) }
    }
}

impl Sink for StdoutSink {
    fn open(&self, _task: &WriterTask) -> Result<Box<dyn SinkWriter>, contract::Error> {
        let out = io::stdout();
        let is_terminal = out.is_terminal();
        Ok(Box::new(LineWriter::new(out, self.lines, is_terminal)))
    }
}

/// Lines gathered into whole blocks.
struct Blocks<W> {
    out: W,
    lines: LineStyle,
    /// Whether a person is looking.
    is_terminal: bool,
    buffer: Vec<u8>,
}

impl<W: Write> Blocks<W> {
    fn append(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        for value in batch.values.iter() {
            if let Err(value) = self.lines.append(value, &mut self.buffer) {
                let sample = String::from_utf8_lossy(value.get(..60).unwrap_or(value)).escape_debug().to_string();
                return Err(Error::LineBreak { sample });
            }
            if self.buffer.len() >= BUFFER_BYTES {
                self.write_buffer()?;
            }
        }
        if self.is_terminal {
            self.write_buffer()?;
        }
        Ok(())
    }

    fn write_buffer(&mut self) -> Result<(), Error> {
        // One call, so that the lines of another subtask come before or after.
        let written = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        written.map_err(|source| match source.kind() {
            io::ErrorKind::BrokenPipe => Error::ReaderGone,
            _ => Error::Write { source },
        })?;
        self.buffer.clear();
        Ok(())
    }
}

/// Writes lines, until that fails.
struct LineWriter<W> {
    blocks: Blocks<W>,
    failure: FirstFailure,
}

impl<W: Write> LineWriter<W> {
    fn new(out: W, lines: LineStyle, is_terminal: bool) -> Self {
        let blocks = Blocks { out, lines, is_terminal, buffer: Vec::new() };
        Self { blocks, failure: FirstFailure::default() }
    }
}

impl<W: Write + Send> SinkWriter for LineWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), contract::Error> {
        self.failure.unless(|| self.blocks.append(batch))
    }

    fn flush(&mut self) -> Result<(), contract::Error> {
        self.failure.unless(|| self.blocks.write_buffer())
    }

    fn close(&mut self) -> Result<(), contract::Error> {
        self.flush()
    }
}
