//! Which parts of keyed state a subtask restores, and when it writes its state anew.
//!
//! State of a key group is a history: an image, then the deltas after it. A part holds a piece of the histories of
//! several groups, those its writer owned. When key groups change owners, a new owner takes over every part that
//! concerns it, restricted to its own groups; parts are never rewritten for that.
//!
//! # Words
//! - *restricted*: the same objects, counting for fewer key groups
//!
//! # Invariants
//! 1. For any sequence of hand-overs, images and rescales, the parts that cover a key group are exactly its own
//!    history, in order: no other group's, none twice, none missing.
//! 2. Parts of one operator stand by rising epoch; for one key group the epochs rise strictly.
//! 3. An image replaces the parts of its subtask up to and including its epoch, for its key groups alone.
//!
//! # Absent on purpose
//! What entries are: a part counts for its key groups, and who restores it passes over the others.

use model::{Epoch, KeyGroup, KeyGroupRange, ObjectHandle};

use crate::manifest::{Part, PartKind};

#[cfg(test)]
mod tests;

/// More delta parts than this, and an image is due: each costs a request at a restore, and a line in every manifest.
/// Low, and large state is written whole for a few deltas: with 16, a table of 640 MiB that changes by 1 % an epoch was
/// written every 16 epochs, six times the bytes of the deltas it replaced.
pub const MAX_DELTAS: usize = 128;

/// The parts of `parts` that concern `range`, restricted to it, in order.
#[must_use]
pub fn inherit(parts: &[Part], range: &KeyGroupRange) -> Vec<Part> {
    let restricted = parts.iter().filter_map(|part| {
        let key_groups = intersection(&part.key_groups, range)?;
        Some(Part { key_groups, ..part.clone() })
    });
    let mut inherited: Vec<Part> = restricted.collect();
    order(&mut inherited);
    inherited
}

/// The parts of the whole operator, from those of its subtasks.
#[must_use]
pub fn gather(subtasks: impl IntoIterator<Item = Vec<Part>>) -> Vec<Part> {
    let mut parts: Vec<Part> = subtasks.into_iter().flatten().collect();
    order(&mut parts);
    parts
}

/// Adds what the subtask that owns `key_groups` handed over for `epoch`; nothing where nothing changed.
///
/// # Panics
/// In debug builds, when the epoch is not above those that are there.
pub fn add_delta(parts: &mut Vec<Part>, key_groups: &KeyGroupRange, epoch: Epoch, objects: Vec<ObjectHandle>) {
    debug_assert!(parts.iter().all(|part| part.epoch < epoch), "deltas are added by rising epoch");
    if !objects.is_empty() {
        parts.push(Part { key_groups: key_groups.clone(), kind: PartKind::Delta, epoch, objects });
    }
}

/// Replaces what the image of the subtask that owns `key_groups` makes superfluous: everything up to and including
/// `epoch`, at whose mark it was made. An image that is empty says that nothing was there.
pub fn replace_by_image(parts: &mut Vec<Part>, key_groups: &KeyGroupRange, epoch: Epoch, objects: Vec<ObjectHandle>) {
    parts.retain(|part| part.epoch > epoch);
    if !objects.is_empty() {
        parts.insert(0, Part { key_groups: key_groups.clone(), kind: PartKind::Image, epoch, objects });
    }
}

/// Whether a subtask should write an image: when its deltas have more than half the bytes of what is live, or are
/// more than [`MAX_DELTAS`]. Parts taken over from other owners count with all their bytes: reading them costs that.
#[must_use]
pub fn is_image_due(parts: &[Part], live_bytes: u64) -> bool {
    let deltas = || parts.iter().filter(|part| part.kind == PartKind::Delta);
    let delta_bytes = deltas().map(Part::length_bytes).fold(0, u64::saturating_add);
    deltas().count() > MAX_DELTAS || delta_bytes > live_bytes / 2
}

/// Sorts by epoch and joins parts that are the same objects for neighbouring key groups. Two parts of one key group
/// never have the same epoch, so that sorting by it keeps every history.
fn order(parts: &mut Vec<Part>) {
    parts.sort_by(|a, b| {
        let key = |part: &Part| (part.epoch, part.kind, part.key_groups.first);
        key(a).cmp(&key(b)).then_with(|| a.objects.cmp(&b.objects))
    });
    parts.dedup_by(|next, part| {
        let joins = part.key_groups.end == next.key_groups.first
            && (part.epoch, part.kind) == (next.epoch, next.kind)
            && part.objects == next.objects;
        if joins {
            part.key_groups.end = next.key_groups.end;
        }
        joins
    });
}

fn intersection(a: &KeyGroupRange, b: &KeyGroupRange) -> Option<KeyGroupRange> {
    let (first, end): (KeyGroup, KeyGroup) = (a.first.max(b.first), a.end.min(b.end));
    (first < end).then_some(KeyGroupRange { first, end })
}
