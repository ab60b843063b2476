//! How the state of one subtask is kept: what it hands over at a barrier, and what it may purge.

use std::collections::VecDeque;

use contract::{Error, KeyedState};
use model::{Barrier, Epoch, EventTime, KeyGroupRange, ObjectHandle};
use protocol::assignment_of_parts::{add_delta, is_image_due};
use protocol::manifest::Part;

use crate::epochs::handed::Kept;

/// Barriers that are remembered until a checkpoint is complete. A forgotten one delays a purge to the next.
const MOST_MARKS: usize = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Keeping {
    key_groups: KeyGroupRange,
    /// What a restore would read: an image is due when that is much more than what lives.
    parts: Vec<Part>,
    /// The watermarks of barriers whose checkpoints are not known to be complete, oldest first.
    marks: VecDeque<(Epoch, EventTime)>,
}

impl Keeping {
    /// A table that was restored from `parts`.
    pub(crate) fn new(key_groups: KeyGroupRange, parts: Vec<Part>) -> Self {
        Self { key_groups, parts, marks: VecDeque::new() }
    }

    /// What belongs to the epoch that `barrier` ends: what changed, and the whole table where it is time for that.
    pub(crate) fn keep(&mut self, state: &mut dyn KeyedState, barrier: Barrier) -> Result<Kept, Error> {
        if self.marks.len() >= MOST_MARKS {
            self.marks.pop_front();
        }
        self.marks.push_back((barrier.epoch, barrier.watermark));
        let delta = state.snapshot()?;
        let mut kept = Kept { key_groups: self.key_groups.clone(), delta, image: None };
        if !kept.delta.segments.is_empty() {
            // What counts of an object is how much there is to read.
            let read = ObjectHandle { name: String::new(), length_bytes: kept.delta_bytes(), checksum: 0 };
            add_delta(&mut self.parts, &self.key_groups, barrier.epoch, vec![read]);
            if is_image_due(&self.parts, state.stats().live_bytes) {
                kept.image = Some(state.image()?);
                self.parts.clear();
            }
        }
        Ok(kept)
    }

    /// The watermark below which the table may purge, where a checkpoint it took part in became complete.
    #[inline]
    pub(crate) fn completed(&mut self, epoch: Epoch) -> Option<EventTime> {
        let mut watermark = None;
        while let Some((_, known)) = self.marks.pop_front_if(|(marked, _)| *marked <= epoch) {
            watermark = Some(known);
        }
        watermark.filter(|known| *known != EventTime::END && *known != EventTime::UNKNOWN)
    }
}

#[cfg(test)]
mod tests;
