//! Entries one by one, apart from the segments they lie in: out of a table and into another.

use contract::StateEntry;
use model::{HostTime, StateKind};

use crate::Error;
use crate::entry::{EntryName, Head};
use crate::log::{Log, Place};
use crate::table::{Found, Stamp, StateLog, tag_of_name};

/// An entry that was written elsewhere: its write time is its own.
struct Imported {
    written: HostTime,
    mortal: bool,
}

impl Stamp for Imported {
    fn mortal(&self) -> bool {
        self.mortal
    }

    fn made(&self) -> HostTime {
        self.written
    }

    fn over(&self, _: &Log, _: Place) -> HostTime {
        self.written
    }
}

impl StateLog {
    /// Calls `visit` for every entry, key group by key group: values, then entries of maps and lists.
    pub(crate) fn visit_entries(
        &self,
        visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), contract::Error>,
    ) -> Result<(), contract::Error> {
        (0..self.groups.len()).try_for_each(|number| self.visit_group(number, visit))
    }

    /// As [`Self::visit_entries`], of one key group, by its number within the table.
    pub(crate) fn visit_group(
        &self,
        number: usize,
        visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), contract::Error>,
    ) -> Result<(), contract::Error> {
        if let Some(group) = self.groups.get(number) {
            let values = group.values.references().map(Place);
            let mapped = group.entries.references().map(|cell| self.directories.cells.place(cell as u32));
            for place in values.chain(mapped) {
                let (bytes, at) = self.log.bytes(place);
                let head = Head::at(bytes, at);
                let name = head.name(bytes, at);
                let Some(value) = crate::entry::value(bytes, at) else { continue };
                visit(StateEntry {
                    state: name.state,
                    hash: name.hash,
                    key: name.key,
                    entry_key: name.entry_key,
                    value,
                    written_millis: head.written.0,
                })?;
            }
        }
        Ok(())
    }

    /// Puts an entry as it is, over one of the same name.
    pub(crate) fn put_entry(&mut self, entry: StateEntry<'_>) -> Result<(), Error> {
        let StateEntry { state, hash, key, entry_key, value, written_millis } = entry;
        let kind = self.kind(state)?;
        if (kind != StateKind::Value) != entry_key.is_some() {
            return Err(Error::WrongKind { state, kind });
        }
        let name = EntryName { state, hash, key, entry_key };
        let found = Found { group: self.group(hash)?, tag: tag_of_name(&name), first: None };
        if !self.log.has_room(1, name.size(value.len())) {
            return Err(self.log.full());
        }
        let mortal = self.log.policies.get(state).is_some();
        self.put(found, &name, Some(value), &Imported { written: HostTime(written_millis), mortal });
        Ok(())
    }
}
