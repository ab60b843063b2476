//! The bytes of a file, unpacked.

use std::fs::File;
use std::io::{self, Read, Seek};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::gzip::Gzip;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

/// What one step of an unpacker did.
pub(super) struct Step {
    /// Packed bytes used.
    pub(super) consumed: usize,
    /// Bytes unpacked.
    pub(super) produced: usize,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    /// Call again.
    More,
    /// Call again with more packed bytes.
    NeedsMore,
    /// The stream is whole and ends here.
    End,
    /// The stream is damaged; what was produced is good.
    Failed(String),
}

impl Step {
    pub(super) fn more(consumed: usize, produced: usize) -> Self {
        Self { consumed, produced, outcome: Outcome::More }
    }

    pub(super) fn end(consumed: usize) -> Self {
        Self { consumed, produced: 0, outcome: Outcome::End }
    }

    pub(super) fn failed(consumed: usize, produced: usize, why: impl Into<String>) -> Self {
        Self { consumed, produced, outcome: Outcome::Failed(why.into()) }
    }
}

/// Why bytes stop coming.
#[derive(Debug)]
pub(super) enum Stop {
    /// The end of the stream.
    End,
    /// The medium failed.
    Io(io::Error),
    /// The packed bytes are damaged.
    Damaged { damage: String, packed_position: u64 },
}

enum Unpacker {
    None,
    Gzip(Box<Gzip>),
    Zstd(Zstd),
}

/// A file as a stream of unpacked bytes.
pub(super) struct Unpacked {
    file: File,
    unpacker: Unpacker,
    /// Packed bytes that were read and not used: `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_read_out: bool,
    packed_position: u64,
}

impl Unpacked {
    /// Packed bytes read at once: a few dozen system calls per unpacked megabyte.
    const BUFFER_BYTES: usize = 128 * 1024;

    pub(super) fn new(file: File, packing: Packing) -> io::Result<Self> {
        let unpacker = match packing {
            Packing::None => Unpacker::None,
            Packing::Gzip => Unpacker::Gzip(Box::new(Gzip::new())),
            Packing::Zstd => Unpacker::Zstd(Zstd::new()?),
        };
        let buffer_bytes = if packing == Packing::None { 0 } else { Self::BUFFER_BYTES };
        Ok(Self {
            file,
            unpacker,
            buffer: vec![0; buffer_bytes],
            start: 0,
            end: 0,
            is_read_out: false,
            packed_position: 0,
        })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Whether positions are those of the file itself.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.unpacker, Unpacker::None)
    }

    /// Goes to a position of a plain file.
    pub(super) fn seek(&mut self, position: u64) -> io::Result<()> {
        self.file.seek(io::SeekFrom::Start(position)).map(|_| ())
    }

    /// Fills `out` as far as the stream goes: how many bytes, and why it is not full.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> (usize, Option<Stop>) {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let (bytes, stop) = if matches!(self.unpacker, Unpacker::None) {
                read_some(&mut self.file, rest)
            } else {
                self.unpack(rest)
            };
            filled += bytes;
            if stop.is_some() {
                return (filled, stop);
            }
        }
        (filled, None)
    }

    fn unpack(&mut self, out: &mut [u8]) -> (usize, Option<Stop>) {
        let packed = self.buffer.get(self.start..self.end).unwrap_or_default();
        let step = match &mut self.unpacker {
            Unpacker::None => Step::end(0),
            Unpacker::Gzip(gzip) => gzip.step(packed, self.is_read_out, out),
            Unpacker::Zstd(zstd) => zstd.step(packed, self.is_read_out, out),
        };
        self.start += step.consumed;
        self.packed_position += step.consumed as u64;
        let is_drained = self.start == self.end && !self.is_read_out;
        let stop = match step.outcome {
            Outcome::NeedsMore => self.read_packed(),
            Outcome::More if is_drained => self.read_packed(),
            Outcome::More => None,
            Outcome::End => Some(Stop::End),
            Outcome::Failed(damage) => Some(Stop::Damaged { damage, packed_position: self.packed_position }),
        };
        (step.produced, stop)
    }

    /// Moves what is left to the front and reads more behind it.
    fn read_packed(&mut self) -> Option<Stop> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        match read_some(&mut self.file, room) {
            (bytes, None) => self.end += bytes,
            (_, Some(Stop::End)) => self.is_read_out = true,
            (_, stop) => return stop,
        }
        None
    }
}

fn read_some(file: &mut File, out: &mut [u8]) -> (usize, Option<Stop>) {
    loop {
        match file.read(out) {
            Ok(0) => return (0, Some(Stop::End)),
            Ok(bytes) => return (bytes, None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (0, Some(Stop::Io(error))),
        }
    }
}

/// zstd, frame after frame. Bytes are fed block by block, as the decoder asks for them, so that a
/// damaged block takes no whole one with it.
struct Zstd {
    decoder: Decoder<'static>,
    /// How many bytes the decoder wants next; 0 between frames.
    wanted: usize,
    frames: u64,
}

impl Zstd {
    /// The least bytes of a frame's header that tell its length.
    const FRAME_START: usize = 5;

    fn new() -> io::Result<Self> {
        Ok(Self { decoder: Decoder::new()?, wanted: 0, frames: 0 })
    }

    fn step(&mut self, packed: &[u8], is_last: bool, out: &mut [u8]) -> Step {
        let is_between_frames = self.wanted == 0;
        if packed.is_empty() && is_between_frames {
            return match (is_last, self.frames) {
                (false, _) => Step { outcome: Outcome::NeedsMore, ..Step::more(0, 0) },
                (true, 0) => Step::failed(0, 0, "an empty file is not zstd"),
                (true, _) => Step::end(0),
            };
        }
        let wanted = if is_between_frames { Self::FRAME_START } else { self.wanted };
        let fed = packed.get(..wanted).unwrap_or(packed);
        let mut input = InBuffer::around(fed);
        let mut output = OutBuffer::around(out);
        let result = self.decoder.run(&mut input, &mut output);
        let (consumed, produced) = (input.pos(), output.pos());
        match result {
            Ok(wanted) => {
                self.wanted = wanted;
                self.frames += u64::from(wanted == 0);
                if consumed > 0 || produced > 0 {
                    Step::more(consumed, produced)
                } else if is_last {
                    Step::failed(packed.len(), 0, "the file ends in the middle of a frame")
                } else {
                    Step { outcome: Outcome::NeedsMore, ..Step::more(0, 0) }
                }
            }
            Err(error) => Step::failed(consumed, produced, format!("the packed bytes are damaged ({error})")),
        }
    }
}
