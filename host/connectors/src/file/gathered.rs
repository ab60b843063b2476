//! Lines on their way into a file: gathered, packed, and written, each byte once however often a disk is full.
//!
//! # Invariants
//! 1. What could not be written stays, and is written by the next attempt: from where the last one came to, or from the
//!    start of the piece, if the file was cut back to there.
//! 2. At most two pieces are kept: one on its way, and one that is gathered.

use std::io::{self, Write};
use std::mem;

use flate2::Compression;
use flate2::write::GzEncoder;
use model::job::SinkCompression;

/// What is gathered before a write: a system call then costs less than a nanosecond a record.
pub(super) const BUFFER_BYTES: usize = 256 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Gathered {
    compression: SinkCompression,
    /// Whole lines that are not packed.
    lines: Vec<u8>,
    /// A piece on its way, as the file will hold it.
    piece: Vec<u8>,
    /// Bytes of it that are in the file.
    written: usize,
}

impl Gathered {
    pub(super) fn new(compression: SinkCompression) -> Self {
        let lines = Vec::with_capacity(BUFFER_BYTES + BUFFER_BYTES / 4);
        Self { compression, lines, piece: Vec::new(), written: 0 }
    }

    /// Where whole lines are appended.
    pub(super) fn lines(&mut self) -> &mut Vec<u8> {
        &mut self.lines
    }

    /// Whether it is time to write.
    pub(super) fn is_due(&self) -> bool {
        self.lines.len() >= BUFFER_BYTES || !self.piece.is_empty()
    }

    /// The file was cut back to what it was before the piece on its way.
    pub(super) fn begin_piece_again(&mut self) {
        self.written = 0;
    }

    /// Writes everything. Each piece that is whole in the file is told to `whole`.
    pub(super) fn write_to(&mut self, file: &mut impl Write, mut whole: impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            while let Some(rest) = self.piece.get(self.written..).filter(|rest| !rest.is_empty()) {
                match file.write(rest) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(bytes) => self.written += bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if !self.piece.is_empty() {
                whole(&self.piece);
                self.piece.clear();
                self.written = 0;
            }
            if self.lines.is_empty() {
                return Ok(());
            }
            match self.compression {
                SinkCompression::None => mem::swap(&mut self.lines, &mut self.piece),
                SinkCompression::Gzip => {
                    self.piece = pack(&self.lines)?;
                    self.lines.clear();
                }
            }
        }
    }
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests;
