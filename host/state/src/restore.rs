//! Restoring a table from the segments of images and deltas.
//!
//! The segments are taken as they are, not copied: reading them in order rebuilds the index, and a
//! later entry takes the place of an earlier one with the same name. Entries of key groups that the
//! subtask does not own, or that are not among those of their part, are passed over, so a rescale gives
//! every new owner the parts of the old ones, each for as long as it counted.
//!
//! # Time to live
//! The policies are those of the scope, and each entry is judged by its own write time: a policy may be
//! given, taken, made shorter or longer over what is there. Purges leave no tombstones, so what had expired
//! may be there again; under the same policy nobody sees it. Under a longer one it is visible if it was
//! written recently enough for that, whether it had been purged or not, as long as a part still holds it.
//! What was deleted or written over does not come back under any policy. Who wants what has expired to
//! stay gone when the policy changes exports the table as it was and imports what lives.
//!
//! # Absent on purpose
//! Trust: every length is checked before it is used, and damaged bytes give an error. That a damaged
//! value is still a value is not seen here; objects are verified whole by who fetches them.

use std::sync::Arc;

use contract::{StatePart, StateScope};
use model::{KeyGroupRange, OperatorUid, StateKind};

use crate::directories::Directories;
use crate::entry::{self, EntryName, Flaw, Head, Item, SEGMENT_HEADER};
use crate::keyed::PIECE;
use crate::log::{Log, MAX_SEGMENT_BYTES, Place};
use crate::table::{Found, Group, StateLog, tag_of_key, tag_of_name};
use crate::{Error, Options};

/// The newest version of the format.
const VERSION: u16 = u16::from_le_bytes([SEGMENT_HEADER[4], SEGMENT_HEADER[5]]);

/// An entry that was read and not yet taken.
struct Read {
    at: usize,
    head: Head,
    found: Found,
    owned: bool,
}

impl StateLog {
    /// A table from the segments that [`StateLog::mark`] gave, in the order of the marks.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::NewerVersion`], [`Error::OtherKind`] or [`Error::Full`].
    pub fn restore(
        scope: StateScope,
        options: Options,
        segments: impl IntoIterator<Item = Arc<Vec<u8>>>,
    ) -> Result<Self, Error> {
        let mut table = Self::new(scope, options);
        let all = table.scope.key_groups.clone();
        for (number, bytes) in segments.into_iter().enumerate() {
            table.take_segment(number, &bytes, &all)?;
        }
        Ok(table)
    }

    /// A table from parts: an image and the deltas of the marks after it.
    ///
    /// # Errors
    /// The first error of `parts`, and as [`Self::restore`].
    pub fn restore_parts(
        scope: StateScope,
        options: Options,
        parts: impl Iterator<Item = Result<StatePart, contract::Error>>,
    ) -> Result<Self, contract::Error> {
        let mut table = Self::new(scope, options);
        let mut number = 0;
        for part in parts {
            let part = part?;
            for bytes in &part.segments {
                table.take_segment(number, bytes, &part.key_groups)?;
                number += 1;
            }
        }
        Ok(table)
    }

    /// Takes what counts of the segment given as `number`: what belongs to `counts`, and to the subtask.
    pub(crate) fn take_segment(
        &mut self,
        number: usize,
        bytes: &Arc<Vec<u8>>,
        counts: &KeyGroupRange,
    ) -> Result<(), Error> {
        check_header(&self.scope.operator, number, bytes)?;
        let mut piece = Vec::with_capacity(PIECE);
        let segment = self.log.take_in(Arc::clone(bytes))?;
        let mut at = SEGMENT_HEADER.len();
        while at < bytes.len() {
            piece.clear();
            at = self.read_piece(number, bytes, at, counts, &mut piece)?;
            piece.iter_mut().for_each(|read| self.look(&mut read.found, read.head.is_mapped()));
            for read in &piece {
                self.take(Place::new(segment, read.at), read, bytes);
            }
        }
        self.log.free_if_unneeded(segment);
        Ok(())
    }

    /// Reads the entries from `at` on until the piece is full; returns where the next one starts. Asks
    /// for the index lines of what it read. Entries that do not count are left out.
    fn read_piece(
        &self,
        segment: usize,
        bytes: &[u8],
        mut at: usize,
        counts: &KeyGroupRange,
        piece: &mut Vec<Read>,
    ) -> Result<usize, Error> {
        while at < bytes.len() && piece.len() < PIECE {
            let damaged = |flaw| Error::Damaged { operator: self.scope.operator.clone(), segment, at, flaw };
            let item = entry::decode(bytes, at).map_err(damaged)?;
            if let Item::Entry(head) = item {
                if at >= MAX_SEGMENT_BYTES {
                    return Err(damaged(Flaw::Contradiction { what: "an entry beyond 2 MiB" }));
                }
                self.check_kind(&head)?;
                let key_group = protocol::key_group::group_of(head.hash, self.scope.key_group_count);
                let group = self.group(head.hash).ok().filter(|_| counts.contains(key_group));
                let tag = tag_of_name(&head.name(bytes, at));
                let found = Found { group: group.unwrap_or_default(), tag, first: None };
                if let Some(group) = group.and_then(|group| self.groups.get(group)) {
                    let index = if head.is_mapped() { &group.entries } else { &group.values };
                    index.prefetch(found.tag);
                }
                piece.push(Read { at, head, found, owned: group.is_some() });
            }
            at += item.size();
        }
        Ok(at)
    }

    /// Refuses an entry whose state is declared with another kind. What is not declared stays where it
    /// is: whether it may be dropped is not decided here.
    fn check_kind(&self, head: &Head) -> Result<(), Error> {
        let Ok(kind) = self.kind(head.state) else { return Ok(()) };
        let name = |mapped: bool| if mapped { "map entries" } else { "a value" };
        let mapped = kind != StateKind::Value;
        if mapped == head.is_mapped() {
            return Ok(());
        }
        let operator = self.scope.operator.clone();
        Err(Error::OtherKind { operator, state: head.state, found: name(head.is_mapped()), declared: name(mapped) })
    }

    /// Takes the entry at `place`, which is newer than all before.
    fn take(&mut self, place: Place, read: &Read, bytes: &[u8]) {
        let Self { log, directories, groups, .. } = self;
        let (head, tag) = (&read.head, read.found.tag);
        let Some(group) = groups.get_mut(read.found.group).filter(|_| read.owned) else {
            return log.reject(place);
        };
        let name = head.name(bytes, place.at());
        let is_known = if head.is_mapped() {
            take_mapped(group, log, directories, read, &name, place)
        } else {
            let values = &mut group.values;
            let old = values.find_or_gap(tag, |old| log.is_called(Place(old), &name));
            let goes = head.is_tombstone() && !log.is_over_base;
            match old {
                Err(_) if head.is_tombstone() => false,
                Err(gap) => {
                    values.insert_at(gap, tag, place.0);
                    true
                }
                Ok(position) => {
                    log.kill(Place(values.reference(position)));
                    if goes {
                        values.remove(position);
                    } else {
                        values.set(position, place.0);
                    }
                    !goes
                }
            }
        };
        if is_known {
            log.adopt(place, head);
        } else {
            log.reject(place);
        }
    }
}

/// Refuses what is no segment, or one of a newer version.
pub(crate) fn check_header(operator: &OperatorUid, number: usize, bytes: &[u8]) -> Result<(), Error> {
    let named = || operator.clone();
    let damaged = |flaw| Error::Damaged { operator: named(), segment: number, at: 0, flaw };
    let &[a, b, c, d, low, high, zero, nil, ..] = bytes else {
        return Err(damaged(Flaw::Truncated { needed: SEGMENT_HEADER.len(), left: bytes.len() }));
    };
    if [a, b, c, d] != *b"TGSL" {
        return Err(damaged(Flaw::NotASegment { found: [a, b, c, d] }));
    }
    let found = u16::from_le_bytes([low, high]);
    if found > VERSION {
        return Err(Error::NewerVersion { operator: named(), segment: number, found, newest: VERSION });
    }
    if found == 0 || [zero, nil] != [0, 0] {
        return Err(damaged(Flaw::Contradiction { what: "a version or mark" }));
    }
    Ok(())
}

/// Puts an entry of a map or list into the index and its directory, or takes out what it deletes. Whether the
/// index knows the place then: over a base it knows tombstones too, which hide what lies there.
fn take_mapped(
    group: &mut Group,
    log: &mut Log,
    directories: &mut Directories,
    read: &Read,
    name: &EntryName<'_>,
    place: Place,
) -> bool {
    let Group { entries, heads, .. } = group;
    let (head, tag) = (&read.head, read.found.tag);
    let old = entries.find_or_gap(tag, |cell| log.is_called(directories.cells.place(cell as u32), name));
    let head_tag = tag_of_key(head.hash, head.state);
    let position = match old {
        Ok(position) => position,
        Err(_) if head.is_tombstone() => return false,
        Err(gap) => {
            let cell = directories.add(log, heads, head_tag, name, place);
            entries.insert_at(gap, tag, u64::from(cell));
            return true;
        }
    };
    let cell = entries.reference(position) as u32;
    let old = directories.cells.place(cell);
    let goes = head.is_tombstone() && !log.is_over_base;
    if goes {
        entries.remove(position);
        directories.remove(log, heads, head_tag, name, cell);
    } else {
        directories.cells.set(cell, place);
    }
    log.kill(old);
    !goes
}

#[cfg(test)]
mod tests;
