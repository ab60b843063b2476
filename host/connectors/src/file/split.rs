//! One file, read from a position to its end: bytes in arenas, records as spans of them.
//!
//! # Words
//! - *position*: bytes of the unpacked stream before a record
//! - *tail*: the start of a record whose end has not been read; it moves to the front of the next arena
//!
//! # Invariants
//! 1. A byte is read once and copied only as part of a tail.
//! 2. The arena grows to the longest record allowed, and no further: beyond it the line is *long*, and
//!    all that is kept of it is its first 64 KiB.
//! 3. What came before a failure of the medium is handed out before the failure is.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

use contract::{Polled, Rejected};
use model::{Position, SourceId, SplitIndex};

use super::error::Error;
use super::lines::{CsvLines, Found, Line, LineRules, Passed, Rule};
use super::listing::{self, BYTE_ORDER_MARK};
use super::options::FileSourceOptions;
use super::rows::{Limits, Rows};
use super::unpack::{Stop, Unpacked};
use crate::arena::ArenaPool;

/// What is kept of a line that is too long to be a record.
pub(super) const KEPT_BYTES: usize = 64 * 1024;

/// Why a line is rejected.
const TOO_LONG: &str = "record-too-long";
/// As [`TOO_LONG`].
const NOT_CLOSED: &str = "quote-not-closed";

/// The most of a poll.
#[derive(Clone, Copy)]
pub(super) struct Most {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// A line too long to be a record, while its end is looked for.
struct LongLine {
    position: u64,
    kept: Vec<u8>,
    length_bytes: u64,
    /// Whether the last byte passed was a `\r`, which is part of the line unless a `\n` follows.
    ends_in_return: bool,
}

/// One open file.
pub(super) struct FileSplit {
    name: String,
    source: SourceId,
    index: SplitIndex,
    rules: LineRules,
    input: Unpacked,
    opened: fs::Metadata,
    arena: Arc<Vec<u8>>,
    /// `arena[start..filled]` has been read and not handed out.
    start: usize,
    filled: usize,
    /// The position of `arena[start]`.
    position: u64,
    stop: Option<Stop>,
    long: Option<LongLine>,
    /// `None` where every line is a record.
    csv: Option<CsvLines>,
    passed: Passed,
    has_passed_header: bool,
    /// Whether the last line was delivered without its end, which may come yet.
    lacks_line_end: bool,
}

impl FileSplit {
    /// Opens a file and goes to `position`.
    pub(super) fn open(
        options: &FileSourceOptions,
        rules: LineRules,
        source: SourceId,
        index: SplitIndex,
        name: &str,
        position: u64,
    ) -> Result<Self, Error> {
        let input = listing::open(options, name)?;
        let opened = input.file().metadata().map_err(|source| Error::Open { path: PathBuf::from(name), source })?;
        let csv = match rules.rule {
            Rule::Line => None,
            Rule::Csv { delimiter } => Some(CsvLines::new(delimiter, rules.max_record_bytes)),
        };
        let mut split = Self {
            name: name.to_owned(),
            source,
            index,
            rules,
            input,
            opened,
            arena: Arc::default(),
            start: 0,
            filled: 0,
            position: 0,
            stop: None,
            long: None,
            csv,
            passed: Passed::default(),
            has_passed_header: false,
            lacks_line_end: false,
        };
        if position > 0 {
            split.go_to(position)?;
        }
        Ok(split)
    }

    pub(super) fn index(&self) -> SplitIndex {
        self.index
    }

    /// Where reading resumes after what was handed out.
    pub(super) fn position(&self) -> Position {
        Position(self.long.as_ref().map_or(self.position, |long| long.position))
    }

    pub(super) fn passed(&self) -> Passed {
        self.passed
    }

    fn go_to(&mut self, position: u64) -> Result<(), Error> {
        if self.input.is_plain() {
            let end = self.opened.len();
            if position > end {
                return Err(Error::PositionGone { split: self.name.clone(), position, end });
            }
            self.position = position - 1;
            self.input.seek(self.position).map_err(|source| self.cannot_read(source, position))?;
        }
        let mut scratch = vec![0; 64 * 1024];
        let mut last = 0;
        while self.position < position {
            let left = usize::try_from(position - self.position).unwrap_or(usize::MAX).min(scratch.len());
            let (bytes, stop) = self.input.fill(scratch.get_mut(..left).unwrap_or_default());
            self.position += bytes as u64;
            last = bytes.checked_sub(1).and_then(|at| scratch.get(at)).copied().unwrap_or(last);
            match stop {
                None => {}
                Some(Stop::End) if self.position == position => self.stop = Some(Stop::End),
                Some(Stop::End) => {
                    return Err(Error::PositionGone { split: self.name.clone(), position, end: self.position });
                }
                Some(stop) => return Err(self.failure(stop, self.position)),
            }
        }
        let is_after_mark = self.rules.skips_empty && position == 3 && last == BYTE_ORDER_MARK[2];
        self.lacks_line_end = last != b'\n' && !is_after_mark;
        Ok(())
    }

    /// Passes over the end of a line that was delivered without it. `false`: it has not been read.
    fn pass_line_end(&mut self) -> Result<bool, Error> {
        let bytes = match self.pending() {
            [] | [b'\r'] => return Ok(false),
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            other => {
                let found = String::from_utf8_lossy(other.get(..60).unwrap_or(other)).escape_debug().to_string();
                return Err(Error::LineContinued { split: self.name.clone(), position: self.position, found });
            }
        };
        self.advance(bytes);
        self.lacks_line_end = false;
        Ok(true)
    }

    /// The next records; `None` at the end of the file.
    pub(super) fn poll(&mut self, pool: &mut ArenaPool, most: Most) -> Result<Option<Polled>, Error> {
        loop {
            if self.lacks_line_end && !self.pass_line_end()? {
                match self.stop {
                    None => self.refill(pool),
                    Some(Stop::End) => return self.check_unchanged().map(|()| None),
                    Some(_) => return self.cut_rest(),
                }
                continue;
            }
            if self.long.is_some() {
                if let Some(rejected) = self.end_long_line() {
                    return Ok(Some(Polled::Rejected(rejected)));
                }
            } else if let Some(polled) = self.cut(most) {
                return Ok(Some(polled));
            }
            if self.stop.is_none() {
                self.refill(pool);
            } else if let Some(polled) = self.cut_rest()? {
                return Ok(Some(polled));
            } else {
                return Ok(None);
            }
        }
    }

    fn pending(&self) -> &[u8] {
        self.arena.get(self.start..self.filled).unwrap_or_default()
    }

    fn advance(&mut self, bytes: usize) {
        self.start += bytes;
        self.position += bytes as u64;
    }

    /// Passes over what stands only at the start of a file. `false` while too little has been read.
    fn pass_start(&mut self) -> bool {
        let is_read_out = self.stop.is_some();
        if self.position == 0 && self.rules.skips_empty {
            let pending = self.pending();
            if pending.starts_with(&BYTE_ORDER_MARK) {
                self.passed.byte_order_marks += 1;
                self.advance(BYTE_ORDER_MARK.len());
            } else if pending.len() < BYTE_ORDER_MARK.len() && !is_read_out {
                return false;
            }
        }
        let header_at = if self.passed.byte_order_marks > 0 { BYTE_ORDER_MARK.len() as u64 } else { 0 };
        if self.rules.has_header && self.position == header_at && !self.has_passed_header {
            // The header was read when the source was made, so a file without its end is all header.
            match (self.rules.rule.first(self.pending()), is_read_out) {
                (Some(line), _) => self.advance(line.next),
                (None, true) => self.advance(self.pending().len()),
                (None, false) => return false,
            }
            self.has_passed_header = true;
        }
        true
    }

    /// Records whose end has been read.
    fn cut(&mut self, most: Most) -> Option<Polled> {
        if !self.pass_start() {
            return None;
        }
        let mut rows = Rows::new(self.source, self.index, self.start, self.position);
        let limits = Limits { rows: most.rows, bytes: most.bytes, skips_empty: self.rules.skips_empty };
        let spilled = match self.csv.as_mut() {
            None => self.take_lines(&mut rows, &limits),
            Some(csv) => {
                let read = self.arena.get(..self.filled).unwrap_or_default();
                take_csv(csv, read, matches!(self.stop, Some(Stop::End)), &mut rows, &limits)
            }
        };
        self.passed.empty_lines += rows.empty_lines;
        let advanced = rows.at - self.start;
        let batch = rows.into_batch(&self.arena);
        self.advance(advanced);
        match (batch, spilled) {
            (Some(batch), _) => Some(Polled::Batch(batch)),
            (None, Some((line, reason))) => Some(self.reject(line, reason)),
            (None, None) => None,
        }
    }

    /// Takes lines until one has no end, or does not fit; returns one that is no record, and why.
    fn take_lines(&self, rows: &mut Rows, limits: &Limits) -> Option<(Line, &'static str)> {
        let pending = self.pending();
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', pending) {
            let has_return = newline > start && pending.get(newline - 1) == Some(&b'\r');
            let line = Line { end: newline - start - usize::from(has_return), next: newline + 1 - start };
            if line.end > self.rules.max_record_bytes {
                return Some((line, TOO_LONG));
            }
            if !rows.take(line, limits) {
                return None;
            }
            start = newline + 1;
        }
        None
    }

    fn reject(&mut self, line: Line, reason: &'static str) -> Polled {
        let bytes = self.pending().get(..line.end).unwrap_or_default();
        let rejected = self.rejected(self.position, reason, bytes.len() as u64, bytes);
        self.advance(line.next);
        Polled::Rejected(rejected)
    }

    fn rejected(&self, position: u64, reason: &'static str, length_bytes: u64, bytes: &[u8]) -> Rejected {
        let most = self.rules.max_record_bytes;
        let message = if reason == NOT_CLOSED {
            format!(
                "E0311 `{}` at position {position}: a quote opens in this line and is not closed within {most} bytes or the file",
                self.name
            )
        } else {
            format!(
                "E0310 `{}` at position {position}: a line of {length_bytes} bytes, expected at most {most} (`max_record`)",
                self.name
            )
        };
        Rejected {
            split: self.index,
            position: Position(position),
            reason,
            message,
            bytes: bytes.get(..KEPT_BYTES).unwrap_or(bytes).to_owned(),
            length_bytes,
        }
    }

    /// Reads on behind the tail. When the tail is longer than a record may be, a long line begins.
    fn refill(&mut self, pool: &mut ArenaPool) {
        let tail = self.filled - self.start;
        // One more than a record may have, because a `\r` at the end is not part of it.
        if tail > self.rules.max_record_bytes + 1 && self.long.is_none() {
            let kept = self.pending().get(..KEPT_BYTES.min(tail)).unwrap_or_default().to_owned();
            self.long = Some(LongLine { position: self.position, kept, length_bytes: 0, ends_in_return: false });
            return;
        }
        let mut buffer = pool.take((2 * tail).max(pool.arena_bytes()));
        if let Some(front) = buffer.get_mut(..tail) {
            front.copy_from_slice(self.pending());
        }
        let (bytes, stop) = self.input.fill(buffer.get_mut(tail..).unwrap_or_default());
        self.start = 0;
        self.filled = tail + bytes;
        self.stop = stop;
        self.arena = pool.lend(buffer);
    }

    /// Passes over pending bytes up to the end of the long line.
    fn end_long_line(&mut self) -> Option<Rejected> {
        let mut long = self.long.take()?;
        let pending = self.pending();
        let newline = memchr::memchr(b'\n', pending);
        let of_line = pending.get(..newline.unwrap_or(pending.len())).unwrap_or_default();
        if long.length_bytes > 0 {
            let room = KEPT_BYTES.saturating_sub(long.kept.len());
            long.kept.extend_from_slice(of_line.get(..room).unwrap_or(of_line));
        }
        long.length_bytes += of_line.len() as u64;
        long.ends_in_return = of_line.last().map_or(long.ends_in_return, |&last| last == b'\r');
        self.advance(newline.map_or(self.filled - self.start, |newline| newline + 1));
        let is_over = newline.is_some() || matches!(self.stop, Some(Stop::End));
        if !is_over {
            self.long = Some(long);
            return None;
        }
        if newline.is_some() && long.ends_in_return {
            long.length_bytes -= 1;
        }
        long.kept.truncate(usize::try_from(long.length_bytes).unwrap_or(usize::MAX));
        Some(self.rejected(long.position, TOO_LONG, long.length_bytes, &long.kept))
    }

    /// At the end of the stream: the last line, if it has no end of its own; then the failure, if the
    /// stream ended in one.
    fn cut_rest(&mut self) -> Result<Option<Polled>, Error> {
        match self.stop.take() {
            Some(Stop::End) | None => self.stop = Some(Stop::End),
            Some(stop) => {
                let position = self.position + self.pending().len() as u64;
                let again = "reading has failed before".to_owned();
                self.stop = Some(Stop::Damaged { damage: again, packed_position: position });
                return Err(self.failure(stop, position));
            }
        }
        let rest = self.filled - self.start;
        if rest == 0 {
            return self.check_unchanged().map(|()| None);
        }
        if rest > self.rules.max_record_bytes {
            return Ok(Some(self.reject(Line { end: rest, next: rest }, TOO_LONG)));
        }
        let mut rows = Rows::new(self.source, self.index, self.start, self.position);
        rows.push(Line { end: rest, next: rest });
        let batch = rows.into_batch(&self.arena);
        self.advance(rest);
        Ok(batch.map(Polled::Batch))
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        let changed = |what| Err(Error::Changed { split: self.name.clone(), what, position: self.position });
        let now = self.input.file().metadata().map_err(|source| self.cannot_read(source, self.position))?;
        let (before, after) = (self.opened.len(), now.len());
        if after < before {
            return changed(format!("cut from {before} to {after} bytes"));
        }
        match fs::metadata(&self.name) {
            Ok(there) if (there.dev(), there.ino()) != (now.dev(), now.ino()) => {
                changed("replaced by another file".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn cannot_read(&self, source: io::Error, position: u64) -> Error {
        Error::Read { split: self.name.clone(), position, source }
    }

    fn failure(&self, stop: Stop, position: u64) -> Error {
        match stop {
            Stop::Io(source) => self.cannot_read(source, position),
            Stop::Damaged { damage, packed_position } => {
                Error::Damaged { split: self.name.clone(), damage, packed_position, position }
            }
            Stop::End => self.cannot_read(io::ErrorKind::UnexpectedEof.into(), position),
        }
    }
}

/// As [`FileSplit::take_lines`], for records that may hold line breaks. `read`: the arena as far as it is
/// filled; `is_all`: nothing follows it.
fn take_csv(
    csv: &mut CsvLines,
    read: &[u8],
    is_all: bool,
    rows: &mut Rows,
    limits: &Limits,
) -> Option<(Line, &'static str)> {
    loop {
        let rest = read.get(rows.at..).unwrap_or_default();
        match csv.first(rest, rows.position(), is_all)? {
            Found::Record(line) if rows.take(line, limits) => {}
            Found::Record(_) => return None,
            Found::TooLong(line) => return Some((line, TOO_LONG)),
            Found::Unclosed(line) => return Some((line, NOT_CLOSED)),
        }
    }
}
