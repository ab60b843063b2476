//! When what the rows of a slot see changes, by event time.
//!
//! A batch is given to a function slot by slot, not row by row, so all rows of a slot must see the same.
//! What changes between the first and the last of them: an entry of the key expires, or what the first row
//! writes would expire before the last one looks.
#![expect(clippy::indexing_slicing, reason = "slots and their groups were checked before")]

use contract::SlotKeys;
use model::{EventTime, StateId, StateKind, Ttl};

use crate::entry::{EntryName, Head};
use crate::expiry::expiry;
use crate::table::{Found, StateLog, name_of, tag_of_key};

impl StateLog {
    /// The least time above the first look of `slot` and not above its last at which its rows see otherwise.
    pub(crate) fn change_of(&self, slots: &SlotKeys, slot: usize) -> Option<EventTime> {
        let looks = &slots.looks;
        let (&first, &last) = (looks.earliest.get(slot)?, looks.latest.get(slot)?);
        if first >= last {
            return None;
        }
        let mut change: Option<i64> = None;
        let mut note = |time: i64| {
            if first.0 < time && time <= last.0 {
                change = Some(change.map_or(time, |change| change.min(time)));
            }
        };
        for (state, ttl) in self.log.policies.by_event_time() {
            note(first.0.saturating_add_unsigned(ttl.millis));
            self.visit_expiries(&name_of(slots, slot, state), state, ttl, &mut note);
        }
        change.map(EventTime)
    }

    /// Calls `note` with the expiry of every entry of a key in one state.
    fn visit_expiries(&self, name: &EntryName<'_>, state: StateId, ttl: Ttl, note: &mut impl FnMut(i64)) {
        let Ok(number) = self.group(name.hash) else { return };
        let tag = tag_of_key(name.hash, state);
        let mut visit = |place| {
            let (bytes, at) = self.log.bytes(place);
            let head = Head::at(bytes, at);
            if !head.is_tombstone() {
                note(expiry(head.written, ttl));
            }
        };
        if self.kind(state) != Ok(StateKind::Value) {
            let heads = &self.groups[number].heads;
            return self.directories.places(&self.log, heads, tag, name).for_each(visit);
        }
        let mut found = Found { group: number, tag, first: None };
        self.look(&mut found, false);
        if let Some(place) = self.place_of(found, name) {
            visit(place);
        }
    }
}
