//! What a savepoint calls something, and what the job calls it.
//!
//! State, positions and output are found by name, and by nothing else: not by place in the graph, not by type. Where a
//! name changed, the user says so. On the left stands what the savepoint has, on the right what the job has.

use std::collections::{BTreeMap, BTreeSet};

use checkpoint::savepoint::Metadata;
use model::{OperatorUid, StateDescriptor, StateKind};
use runtime::JobGraph;

use crate::report::{CliError, Problem};

/// A list keeps where it begins and ends in a state of its own, called so after it.
const BOUNDS: &str = "-bounds";

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    operators: BTreeMap<OperatorUid, OperatorUid>,
    states: BTreeMap<(OperatorUid, String), String>,
}

impl Mapping {
    /// Reads `OLD=NEW` of operators and `UID/OLD=NEW` of states.
    ///
    /// # Errors
    /// What is written in another way, and two for one.
    pub(crate) fn parse(operators: &[String], states: &[String]) -> Result<Self, CliError> {
        let mut mapping = Self::default();
        for text in operators {
            let refused = |why: &str| refused(&format!("--map-operator {text}: {why}"), "write --map-operator OLD=NEW");
            let (old, new) = text.split_once('=').ok_or_else(|| refused("expected `OLD=NEW`"))?;
            let uid = |name: &str| OperatorUid::new(name).map_err(|error| refused(&error.to_string()));
            if mapping.operators.insert(uid(old)?, uid(new)?).is_some() {
                return Err(refused(&format!("`{old}` is mapped twice")));
            }
        }
        for text in states {
            let refused = |why: &str| refused(&format!("--map-state {text}: {why}"), "write --map-state UID/OLD=NEW");
            let (uid, names) = text.split_once('/').ok_or_else(|| refused("expected `UID/OLD=NEW`"))?;
            let (old, new) = names.split_once('=').ok_or_else(|| refused("expected `UID/OLD=NEW`"))?;
            let uid = OperatorUid::new(uid).map_err(|error| refused(&error.to_string()))?;
            if mapping.states.insert((uid, old.to_owned()), new.to_owned()).is_some() {
                return Err(refused(&format!("`{old}` is mapped twice")));
            }
        }
        Ok(mapping)
    }

    /// Whether nothing has another name.
    pub(crate) fn is_empty(&self) -> bool {
        self.operators.is_empty() && self.states.is_empty()
    }

    /// What the job calls an operator of the savepoint.
    pub(crate) fn of_job(&self, uid: &OperatorUid) -> OperatorUid {
        self.operators.get(uid).unwrap_or(uid).clone()
    }

    /// What the savepoint calls an operator of the job.
    pub(crate) fn of_savepoint(&self, uid: &OperatorUid) -> OperatorUid {
        let old = self.operators.iter().find(|(_, new)| *new == uid);
        old.map_or(uid, |(old, _)| old).clone()
    }

    /// The states of an operator of the savepoint, under the names that the job has for them.
    pub(crate) fn states(&self, uid: &OperatorUid, states: &[StateDescriptor]) -> Vec<StateDescriptor> {
        let renamed = |name: &str| self.states.get(&(uid.clone(), name.to_owned()));
        let is_list = |name: &str| states.iter().any(|it| it.name == name && it.kind == StateKind::Appended);
        let new_name = |state: &StateDescriptor| match renamed(&state.name) {
            Some(new) => new.clone(),
            None => match state.name.strip_suffix(BOUNDS).filter(|list| is_list(list)).and_then(renamed) {
                Some(list) => format!("{list}{BOUNDS}"),
                None => state.name.clone(),
            },
        };
        states.iter().map(|state| StateDescriptor { name: new_name(state), ..state.clone() }).collect()
    }

    /// Refuses what is not there, on either side, and what would become one.
    ///
    /// # Errors
    /// With the names that there are.
    pub(crate) fn check(&self, savepoint: &Metadata, graph: &JobGraph) -> Result<(), CliError> {
        let there = savepoint.sources.keys().chain(savepoint.operators.keys()).chain(savepoint.sinks.keys());
        let there: BTreeSet<&OperatorUid> = there.collect();
        let sources = graph.sources.iter().map(|node| &node.uid);
        let functions = graph.functions.iter().map(|node| &node.uid);
        let of_job: BTreeSet<&OperatorUid> =
            sources.chain(functions).chain(graph.sinks.iter().map(|node| &node.uid)).collect();
        for (old, new) in &self.operators {
            let place = format!("--map-operator {old}={new}");
            if !there.contains(old) {
                let help = format!("its operators: {}", listed(there.iter()));
                return Err(refused(&format!("{place}: the savepoint has no operator `{old}`"), &help));
            }
            if !of_job.contains(new) {
                let help = format!("its operators: {}", listed(of_job.iter()));
                return Err(refused(&format!("{place}: the job has no operator `{new}`"), &help));
            }
            let onto = there.iter().filter(|uid| self.of_job(uid) == *new).count();
            if onto > 1 {
                let help = format!("map the other one too, or give the operator of the job a name that `{new}` is not");
                return Err(refused(&format!("{place}: several operators of the savepoint would be `{new}`"), &help));
            }
        }
        self.states.iter().try_for_each(|((uid, old), new)| self.check_state(savepoint, graph, uid, old, new))
    }

    fn check_state(
        &self,
        savepoint: &Metadata,
        graph: &JobGraph,
        uid: &OperatorUid,
        old: &str,
        new: &str,
    ) -> Result<(), CliError> {
        let place = format!("--map-state {uid}/{old}={new}");
        let there = savepoint.operators.get(uid).map(|operator| operator.states.as_slice()).unwrap_or_default();
        if !there.iter().any(|state| state.name == old) {
            let help = format!("its states: {}", listed(there.iter().map(|state| &state.name)));
            return Err(refused(&format!("{place}: the savepoint has no state `{uid}/{old}`"), &help));
        }
        let now = self.of_job(uid);
        let function = graph.functions.iter().find(|node| node.uid == now);
        let declared = function.map(|node| node.factory.descriptor().states.as_slice()).unwrap_or_default();
        if !declared.iter().any(|state| state.name == new) {
            let help = format!("its states: {}", listed(declared.iter().map(|state| &state.name)));
            return Err(refused(&format!("{place}: the job has no state `{now}/{new}`"), &help));
        }
        if self.states(uid, there).iter().filter(|state| state.name == new).count() > 1 {
            let help = format!("map the other one too, or name it as one to drop under a name that `{new}` is not");
            return Err(refused(&format!("{place}: several states of the savepoint would be `{new}`"), &help));
        }
        Ok(())
    }
}

fn listed(names: impl Iterator<Item = impl std::fmt::Display>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn refused(message: &str, help: &str) -> CliError {
    CliError::of(Problem {
        code: Some("E0445".to_owned()),
        message: message.to_owned(),
        help: Some(help.to_owned()),
        ..Problem::default()
    })
}
