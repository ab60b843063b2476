//! gzip, member after member, over bytes that come in pieces.
//!
//! Written over the bare inflater because every byte before a damaged place is to be delivered, and
//! because the place is to be named.
//!
//! # Invariants
//! 1. What was unpacked before a failure is handed out; the failure comes with it.
//! 2. A member's checksum and length are compared at its end.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::unpack::{Outcome, Step};

/// The longest header of a member: a file name and a comment fit many times.
const MAX_HEADER_BYTES: usize = 64 * 1024;
const TRAILER_BYTES: usize = 8;
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug)]
enum Phase {
    Header,
    Body,
    Trailer,
    /// Zeros after the last member, as tapes and some tools leave them.
    Padding,
}

#[derive(Debug)]
pub(super) struct Gzip {
    phase: Phase,
    inflater: Decompress,
    crc: Crc,
    members: u64,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self { phase: Phase::Header, inflater: Decompress::new(false), crc: Crc::new(), members: 0 }
    }

    /// Unpacks from `packed` into `out`; `is_last` says that nothing follows `packed`.
    pub(super) fn step(&mut self, packed: &[u8], is_last: bool, out: &mut [u8]) -> Step {
        match self.phase {
            Phase::Header => self.header(packed, is_last),
            Phase::Body => self.body(packed, is_last, out),
            Phase::Trailer => self.trailer(packed, is_last),
            Phase::Padding => match packed.iter().position(|&byte| byte != 0) {
                Some(at) => Step::failed(at, 0, "bytes that are not gzip follow the last member"),
                None if is_last => Step::end(packed.len()),
                None => Step::more(packed.len(), 0),
            },
        }
    }

    fn header(&mut self, packed: &[u8], is_last: bool) -> Step {
        if packed.is_empty() && is_last {
            return if self.members > 0 { Step::end(0) } else { Step::failed(0, 0, "an empty file is not gzip") };
        }
        if self.members > 0 && packed.first().is_some_and(|&byte| byte == 0) {
            self.phase = Phase::Padding;
            return Step::more(0, 0);
        }
        match header_bytes(packed) {
            Ok(Some(bytes)) => {
                self.phase = Phase::Body;
                self.inflater.reset(false);
                self.crc.reset();
                Step::more(bytes, 0)
            }
            Ok(None) if is_last => Step::failed(packed.len(), 0, "the file ends in the header of a member"),
            Ok(None) if packed.len() > MAX_HEADER_BYTES => Step::failed(0, 0, "the header of a member has no end"),
            Ok(None) => Step { outcome: Outcome::NeedsMore, ..Step::more(0, 0) },
            Err(why) => Step::failed(0, 0, why),
        }
    }

    fn body(&mut self, packed: &[u8], is_last: bool, out: &mut [u8]) -> Step {
        let (in_before, out_before) = (self.inflater.total_in(), self.inflater.total_out());
        let status = self.inflater.decompress(packed, out, FlushDecompress::None);
        let consumed = to_usize(self.inflater.total_in() - in_before);
        let produced = to_usize(self.inflater.total_out() - out_before);
        self.crc.update(out.get(..produced).unwrap_or_default());
        match status {
            Ok(Status::StreamEnd) => {
                self.phase = Phase::Trailer;
                Step::more(consumed, produced)
            }
            Ok(_) if consumed > 0 || produced > 0 => Step::more(consumed, produced),
            Ok(_) if is_last => Step::failed(packed.len(), 0, "the file ends in the middle of a member"),
            Ok(_) => Step { outcome: Outcome::NeedsMore, ..Step::more(0, 0) },
            Err(_) => Step::failed(consumed, produced, "the packed bytes are damaged"),
        }
    }

    fn trailer(&mut self, packed: &[u8], is_last: bool) -> Step {
        let Some((&[a, b, c, d, e, f, g, h], _)) = packed.split_first_chunk::<TRAILER_BYTES>() else {
            return if is_last {
                Step::failed(packed.len(), 0, "the file ends in the checksum of a member")
            } else {
                Step { outcome: Outcome::NeedsMore, ..Step::more(0, 0) }
            };
        };
        let is_whole = u32::from_le_bytes([a, b, c, d]) == self.crc.sum();
        let has_length = u32::from_le_bytes([e, f, g, h]) == self.crc.amount();
        if !is_whole || !has_length {
            return Step::failed(0, 0, "the checksum of a member does not fit what was unpacked");
        }
        self.phase = Phase::Header;
        self.members += 1;
        Step::more(TRAILER_BYTES, 0)
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).expect("one step moves no more than its slices hold")
}

/// The length of the header at the start of `bytes`; `None` while it is not all there.
fn header_bytes(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    const FIXED: usize = 10;
    const DEFLATE: u8 = 8;
    let Some((&[first, second, method, flags, ..], mut rest)) = bytes.split_first_chunk::<FIXED>() else {
        let is_start = bytes.iter().zip(MAGIC).all(|(&byte, magic)| byte == magic);
        return if is_start { Ok(None) } else { Err("bytes that are not gzip follow") };
    };
    if [first, second] != MAGIC {
        return Err("bytes that are not gzip follow");
    }
    if method != DEFLATE || flags & 0xe0 != 0 {
        return Err("a member is packed in a way that is not known");
    }
    let (has_checksum, has_extra, texts) = (flags & 2 != 0, flags & 4 != 0, (flags & 8 != 0, flags & 16 != 0));
    if has_extra {
        let Some((&[low, high], after)) = rest.split_first_chunk::<2>() else { return Ok(None) };
        let Some(after) = after.get(usize::from(u16::from_le_bytes([low, high]))..) else { return Ok(None) };
        rest = after;
    }
    for _ in 0..u8::from(texts.0) + u8::from(texts.1) {
        let Some(end) = memchr::memchr(0, rest) else { return Ok(None) };
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    if has_checksum {
        let Some(after) = rest.get(2..) else { return Ok(None) };
        rest = after;
    }
    Ok(Some(bytes.len() - rest.len()))
}
