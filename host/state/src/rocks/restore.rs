//! Restoring into a base: segment by segment, in bounded memory.
//!
//! A segment is taken by the log as without a base, after what the base holds under its names was brought up: so a
//! later part counts over an earlier one, and a tombstone hides what is there. When the log has taken so much it is
//! drained and given up.

use std::sync::Arc;

use contract::StatePart;
use model::KeyGroupRange;

use super::table::RocksTable;
use crate::entry::{self, Item, SEGMENT_HEADER};

impl RocksTable {
    /// Takes what counts of `parts`, in their order.
    ///
    /// # Errors
    /// The first error of `parts`; when a segment is damaged; when the base fails.
    pub(super) fn restore_parts(
        &mut self,
        parts: &mut dyn Iterator<Item = Result<StatePart, contract::Error>>,
    ) -> Result<(), contract::Error> {
        let mut number = 0;
        for part in parts {
            let part = part?;
            for bytes in part.segments {
                self.bring_names_of(&bytes, &part.key_groups)?;
                self.young.take_segment(number, &bytes, &part.key_groups)?;
                number += 1;
                drop(bytes);
                self.bound()?;
            }
        }
        self.drain()
    }

    /// Drains and gives up what is more than the log may keep.
    fn bound(&mut self) -> Result<(), contract::Error> {
        if self.young.undrained_bytes() >= self.young_bytes() / 2 {
            self.drain()?;
        }
        self.tidy()?;
        while self.give_up(usize::MAX) > 0 {}
        Ok(())
    }

    /// Brings up what the base holds under the names in a segment. What is not a segment is left to who takes it.
    fn bring_names_of(&mut self, bytes: &Arc<Vec<u8>>, counts: &KeyGroupRange) -> Result<(), contract::Error> {
        if self.filter.is_empty() {
            return Ok(());
        }
        let (mut values, mut mapped) = (Vec::new(), Vec::new());
        let mut at = SEGMENT_HEADER.len();
        while at < bytes.len()
            && let Ok(item) = entry::decode(bytes, at)
        {
            if let Item::Entry(head) = item
                && self.young.group(head.hash).is_ok()
                && counts.contains(self.young.key_group_of(head.hash))
            {
                if head.is_mapped() { mapped.push((at, head)) } else { values.push((at, head)) }
            }
            at += item.size();
        }
        for (entries, is_mapped) in [(values, false), (mapped, true)] {
            let name = |row: usize| {
                let (at, head) = entries.get(row).expect("rows are those of the list");
                head.name(bytes, *at)
            };
            self.bring(entries.len(), &name, is_mapped)?;
        }
        Ok(())
    }
}
