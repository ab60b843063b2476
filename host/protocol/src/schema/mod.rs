//! Whether a module can go on with the state of another.
//!
//! A module describes its state: name, shape, a JSON Schema of the values, a version. Before it is given state that
//! another module wrote, what was stored is compared with what it describes, by one rule on every path: start,
//! recovery, savepoint, swap.
//!
//! # Words
//! - *stored*: how the values that are there look; values written long ago keep their look until they are written
//!   again, so this is what all modules since wrote, taken together
//! - *removed field*: one that the newest module does not know and older values still have; the stored schema notes it
//!   under [`REMOVED`]
//!
//! # Invariants
//! 1. States are the same if their names are; numbers may change, and [`Comparison::ids`] says how.
//! 2. What is accepted without `migrate` can be read by the new module, whichever module since wrote it.
//! 3. A field may be added with a default, and removed; a type may become optional; a choice may get more variants.
//!    Everything else about values takes a higher version and a `migrate`.
//! 4. A lower version, another shape, or another type of entry keys is refused, `migrate` or not.
//! 5. State is dropped only when it is named.
//! 6. A module fits what it wrote itself, and comparing again what was taken together changes nothing.
//!
//! # Absent on purpose
//! Running `migrate`: whether a module has one shows when it is called. The time to live: it may always change, since
//! entries keep when they were written.

use std::collections::{BTreeMap, BTreeSet};

use model::{StateDescriptor, StateId, StateKind};

mod rule;
#[cfg(test)]
mod tests;
mod values;

pub use rule::Rule;
pub use values::REMOVED;

/// What becomes of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// As it was stored.
    Same,
    /// The new module reads what is stored.
    Compatible,
    /// Values are rewritten by the new module's `migrate`.
    Migrate {
        /// The version they have.
        from: u32,
    },
    /// It begins empty.
    New,
    /// It was named as one to drop.
    Dropped,
    /// The module cannot have this state.
    Refused {
        /// The rule it breaks.
        rule: Rule,
        /// What to do.
        help: String,
    },
}

/// A state of the old or the new module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFit {
    /// Its name.
    pub name: String,
    /// What becomes of it.
    pub fit: Fit,
    /// Its number so far; `None` for a new one.
    pub old_id: Option<StateId>,
    /// What a manifest says of it from now on; `None` for one that is dropped or refused.
    pub stored: Option<StateDescriptor>,
    /// Whether its time to live changes.
    pub ttl_changed: bool,
}

/// What becomes of all states of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Those of the new module in its order, then those that only the old one had.
    pub states: Vec<StateFit>,
}

impl Comparison {
    /// What is refused, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, &Rule, &str)> {
        self.states.iter().filter_map(|state| match &state.fit {
            Fit::Refused { rule, help } => Some((state.name.as_str(), rule, help.as_str())),
            _ => None,
        })
    }

    /// The new number of each state that goes on, by its old one.
    #[must_use]
    pub fn ids(&self) -> BTreeMap<StateId, StateId> {
        let goes_on = |state: &StateFit| Some((state.old_id?, state.stored.as_ref()?.id));
        self.states.iter().filter_map(goes_on).collect()
    }

    /// What a manifest says of the states from now on.
    #[must_use]
    pub fn stored(&self) -> Vec<StateDescriptor> {
        self.states.iter().filter_map(|state| state.stored.clone()).collect()
    }

    /// Whether stored parts can be restored as they are: no number changed, nothing is migrated or dropped.
    #[must_use]
    pub fn keeps_parts(&self) -> bool {
        let is_kept = |state: &StateFit| match state.fit {
            Fit::Same | Fit::Compatible => state.old_id == state.stored.as_ref().map(|stored| stored.id),
            Fit::New => true,
            Fit::Migrate { .. } | Fit::Dropped | Fit::Refused { .. } => false,
        };
        let reused: BTreeSet<StateId> = self.states.iter().filter_map(|state| state.old_id).collect();
        let is_new_number = |state: &StateFit| {
            state.fit != Fit::New || state.stored.as_ref().is_none_or(|stored| !reused.contains(&stored.id))
        };
        self.states.iter().all(|state| is_kept(state) && is_new_number(state))
    }
}

/// Compares what is stored with what a module describes. `drop` names states that may go.
#[must_use]
pub fn compare(stored: &[StateDescriptor], module: &[StateDescriptor], drop: &BTreeSet<String>) -> Comparison {
    let named = |name: &str| stored.iter().find(|state| state.name == name);
    let of_module = module.iter().map(|new| match named(&new.name) {
        Some(old) => going_on(old, new),
        None => begun(new),
    });
    let is_gone = |old: &&StateDescriptor| module.iter().all(|new| new.name != old.name);
    let gone = stored.iter().filter(is_gone).map(|old| ended(old, stored, drop));
    Comparison { states: of_module.chain(gone).collect() }
}

fn going_on(old: &StateDescriptor, new: &StateDescriptor) -> StateFit {
    let (fit, schema) = match fit(old, new) {
        Ok((fit, schema)) => (fit, Some(schema)),
        Err(rule) => {
            let help = rule.help(&new.name, old.version);
            (Fit::Refused { rule, help }, None)
        }
    };
    StateFit {
        name: new.name.clone(),
        fit,
        old_id: Some(old.id),
        stored: schema.map(|schema| StateDescriptor { schema, ..new.clone() }),
        ttl_changed: old.ttl != new.ttl,
    }
}

fn fit(old: &StateDescriptor, new: &StateDescriptor) -> Result<(Fit, String), Rule> {
    if old.kind != new.kind {
        return Err(Rule::KindChanged { from: old.kind, to: new.kind });
    }
    if new.version < old.version {
        return Err(Rule::VersionFell { from: old.version, to: new.version });
    }
    if new.kind == StateKind::MapEntries {
        values::same_entry_keys(&old.schema, &new.schema)?;
    }
    if new.version > old.version {
        return Ok((Fit::Migrate { from: old.version }, new.schema.clone()));
    }
    let schema = values::taken_together(&old.schema, &new.schema)?;
    Ok(if schema == old.schema && old.schema == new.schema { (Fit::Same, schema) } else { (Fit::Compatible, schema) })
}

fn begun(new: &StateDescriptor) -> StateFit {
    StateFit { name: new.name.clone(), fit: Fit::New, old_id: None, stored: Some(new.clone()), ttl_changed: false }
}

fn ended(old: &StateDescriptor, stored: &[StateDescriptor], drop: &BTreeSet<String>) -> StateFit {
    // A list keeps where it begins and ends in a state of its own, which nobody named.
    let list = old
        .name
        .strip_suffix("-bounds")
        .filter(|list| stored.iter().any(|state| state.name == *list && state.kind == StateKind::Appended));
    let fit = if drop.contains(&old.name) || list.is_some_and(|list| drop.contains(list)) {
        Fit::Dropped
    } else {
        let help = Rule::Removed.help(&old.name, old.version);
        Fit::Refused { rule: Rule::Removed, help }
    };
    StateFit { name: old.name.clone(), fit, old_id: Some(old.id), stored: None, ttl_changed: false }
}
