//! What an operator keeps, a piece of its key groups at a time, so that a savepoint of any size takes little memory.
//!
//! The entries of all parts are sorted by key group into a few files without names, in the folder of the savepoint; each
//! is then what a table of those key groups is restored from. The files are gone when the process is, however it ends.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use contract::{KeyedState, SnapshotStore, StateBackend, StatePart};
use model::{KeyGroup, KeyGroupRange, OperatorUid};
use protocol::manifest::{OperatorState, Part};
use state::{MemoryBackend, scatter};

use super::whole;
use crate::report::CliError;

/// About so many bytes of parts become one table.
const PIECE_BYTES: u64 = 64 << 20;

/// A segment is closed at so many bytes.
const SEGMENT_BYTES: usize = 1 << 20;

/// The entries of some key groups.
struct Piece {
    key_groups: KeyGroupRange,
    file: BufWriter<File>,
    /// How long each segment is, and the one that is being written.
    segments: Vec<usize>,
    open: usize,
}

/// Calls `visit` with tables that together hold what the operator keeps, by rising key group.
///
/// # Errors
/// When an object cannot be read, a file cannot be written, and the first error of `visit`.
pub(super) fn by_key_group(
    objects: &dyn SnapshotStore,
    folder: &Path,
    (uid, operator): (&OperatorUid, &OperatorState),
    key_groups: u16,
    mut visit: impl FnMut(&mut dyn KeyedState) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let bytes: u64 = operator.parts.iter().map(Part::length_bytes).sum();
    let mut pieces = pieces(folder, key_groups, bytes)?;
    let mut number = 0;
    for part in &operator.parts {
        for object in &part.objects {
            for segment in objects.get(object)? {
                scatter::entries_of::<CliError>(uid, number, &segment, key_groups, |group, at| {
                    let counts = part.key_groups.contains(group);
                    let place = pieces.partition_point(|piece| piece.key_groups.end <= group);
                    match (pieces.get_mut(place).filter(|_| counts), segment.get(at)) {
                        (Some(piece), Some(entry)) => piece.add(entry),
                        _ => Ok(()),
                    }
                })?;
                number += 1;
            }
        }
    }
    for piece in pieces {
        let mut scope = whole(uid, key_groups, &operator.states);
        scope.key_groups = piece.key_groups.clone();
        let parts = piece.segments()?;
        visit(MemoryBackend::default().restore(scope, &mut parts.into_iter().map(Ok))?.as_mut())?;
    }
    Ok(())
}

fn pieces(folder: &Path, key_groups: u16, bytes: u64) -> Result<Vec<Piece>, CliError> {
    let many = bytes.div_ceil(PIECE_BYTES).clamp(1, u64::from(key_groups));
    let bound = |at: u64| KeyGroup(u16::try_from(at * u64::from(key_groups) / many).unwrap_or(key_groups));
    let piece = |at| {
        let file = tempfile::tempfile_in(folder).map_err(not_spilled)?;
        let key_groups = KeyGroupRange { first: bound(at), end: bound(at + 1) };
        Ok(Piece { key_groups, file: BufWriter::new(file), segments: Vec::new(), open: 0 })
    };
    (0..many).map(piece).collect()
}

fn not_spilled(error: std::io::Error) -> CliError {
    CliError::failed(format!("sort state by key group in the folder of the savepoint: {error}"))
}

impl Piece {
    fn add(&mut self, entry: &[u8]) -> Result<(), CliError> {
        self.file.write_all(entry).map_err(not_spilled)?;
        self.open += entry.len();
        if self.open >= SEGMENT_BYTES {
            self.segments.push(std::mem::take(&mut self.open));
        }
        Ok(())
    }

    /// What was written, to restore from.
    fn segments(mut self) -> Result<Vec<StatePart>, CliError> {
        if self.open > 0 {
            self.segments.push(self.open);
        }
        let mut file = self.file.into_inner().map_err(|error| not_spilled(error.into_error()))?;
        file.rewind().map_err(not_spilled)?;
        let mut parts = Vec::new();
        for length in self.segments {
            let mut segment = scatter::HEAD.to_vec();
            segment.resize(scatter::HEAD.len() + length, 0);
            let entries = segment.get_mut(scatter::HEAD.len()..).unwrap_or_default();
            file.read_exact(entries).map_err(not_spilled)?;
            parts.push(StatePart { key_groups: self.key_groups.clone(), segments: vec![Arc::new(segment)] });
        }
        Ok(parts)
    }
}
