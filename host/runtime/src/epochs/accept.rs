//! Going on with state that another module stored: the first checkpoint of the job as it is now, before it runs.
//!
//! What a manifest keeps either stays as it is, or is written anew; either way a manifest that names the module of
//! today is created before a record is read. Until it is there, the one before it is what a job goes on from, with the
//! module that it names: a value that cannot be migrated, a crash or a full disk in between change nothing.

use contract::{Error, SnapshotStore, StateEntry, StatePart};
use fail::fail_point;
use model::{Blame, Epoch, Generation, OperatorUid, Retry};
use protocol::manifest::{CheckpointKind, LogRecord, Manifest, OperatorState, encode};
use protocol::ownership::{Fenced, OwnerStep, Ownership};

use super::adopt::overtaken;
use super::begin::Durability;
use super::fit::Fitted;
use super::own::create;
use super::rewrite::{OnRewrite, Rewrite};
use crate::graph::{FunctionNode, JobGraph};

/// Makes what the job goes on from; the manifest as it was, where all of it was stored by the modules of today.
///
/// # Errors
/// When a value cannot be migrated, the store does not answer, or somebody else claimed the job.
pub(super) fn accept(
    graph: &JobGraph,
    fitted: &Fitted,
    ownership: &mut Ownership,
    durability: &Durability,
) -> Result<Manifest, Error> {
    let is_known = |node: &&FunctionNode| {
        let known = fitted.manifest.operators.get(&node.uid);
        let (Some(known), Some(comparison)) = (known, fitted.states.get(&node.uid)) else { return true };
        comparison.keeps_parts() && known.states == comparison.stored() && known.module == node.factory.digest()
    };
    if graph.functions.iter().all(|node| is_known(&node)) {
        return Ok(fitted.manifest.clone());
    }
    let mut manifest = Manifest {
        generation: ownership.generation(),
        epoch: Epoch(fitted.manifest.epoch.0 + 1),
        parent: Some(fitted.manifest.epoch),
        kind: CheckpointKind::Restore,
        ..fitted.manifest.clone()
    };
    let objects = durability.objects.as_ref();
    let to =
        Target { objects, generation: manifest.generation, epoch: manifest.epoch, on_rewrite: &durability.on_rewrite };
    for node in &graph.functions {
        let Some(known) = manifest.operators.get_mut(&node.uid) else { continue };
        let Some(comparison) = fitted.states.get(&node.uid) else { continue };
        if !comparison.keeps_parts() {
            let rewrite = to.rewrite(graph, node, fitted)?;
            known.parts = rewrite.run(&mut |visit| export(&rewrite, known, visit))?;
        }
        note(known, node, fitted);
    }
    fail_point!("before-acceptance");
    let body = encode(&LogRecord::Complete(Box::new(manifest.clone())));
    let number = ownership.next_number().map_err(|fenced| overtaken(&fenced))?;
    match ownership.after_create(create(durability.log.as_ref(), number, durability.randomness.as_ref(), &body)?) {
        OwnerStep::Listed => Ok(manifest),
        OwnerStep::Fenced | OwnerStep::CreateAgain => {
            let (job, generation) = (graph.name.clone(), ownership.generation());
            Err(overtaken(&Fenced { job, generation, number }))
        }
    }
}

/// Where state of a savepoint goes.
pub struct TakeUp<'a> {
    /// Where objects are put.
    pub objects: &'a dyn SnapshotStore,
    /// The incarnation that puts them.
    pub generation: Generation,
    /// Is told how far it is.
    pub on_rewrite: Option<OnRewrite>,
}

/// Gives all entries of an operator, by rising key group.
pub type Entries<'a> =
    dyn FnMut(&OperatorUid, &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>) -> Result<(), Error> + 'a;

impl Fitted {
    /// The manifest, with state from elsewhere: `entries` gives it, as it was stored.
    ///
    /// # Errors
    /// The first error of `entries`; when a value cannot be migrated, or the store does not answer.
    pub fn take_up(&self, graph: &JobGraph, to: &TakeUp<'_>, entries: &mut Entries<'_>) -> Result<Manifest, Error> {
        let mut manifest = Manifest { generation: to.generation, ..self.manifest.clone() };
        let to = Target {
            objects: to.objects,
            generation: to.generation,
            epoch: manifest.epoch,
            on_rewrite: &to.on_rewrite,
        };
        for node in &graph.functions {
            let Some(known) = manifest.operators.get_mut(&node.uid) else { continue };
            known.parts = match self.states.contains_key(&node.uid) {
                true => to.rewrite(graph, node, self)?.run(&mut |visit| entries(&node.uid, visit))?,
                false => Vec::new(),
            };
            note(known, node, self);
        }
        Ok(manifest)
    }
}

/// Where rewritten state goes.
struct Target<'a> {
    objects: &'a dyn SnapshotStore,
    generation: Generation,
    epoch: Epoch,
    on_rewrite: &'a Option<OnRewrite>,
}

impl<'a> Target<'a> {
    fn rewrite(&self, graph: &'a JobGraph, node: &'a FunctionNode, fitted: &'a Fitted) -> Result<Rewrite<'a>, Error> {
        let comparison = fitted.states.get(&node.uid).ok_or_else(|| {
            let message = format!("the state of `{}` is to be rewritten and was not compared", node.uid);
            Error::new(Blame::Host, Retry::No, message).with_code("E0521")
        })?;
        Ok(Rewrite {
            job: &graph.name,
            node,
            comparison,
            key_groups: graph.settings.key_groups,
            objects: self.objects,
            generation: self.generation,
            epoch: self.epoch,
            on_rewrite: self.on_rewrite.as_ref(),
        })
    }
}

/// Says of the function what it is now.
fn note(known: &mut OperatorState, node: &FunctionNode, fitted: &Fitted) {
    known.module = node.factory.digest();
    known.key = node.key.as_ref().map(ToString::to_string);
    known.states = match fitted.states.get(&node.uid) {
        Some(comparison) => comparison.stored(),
        None => node.factory.descriptor().kept_states(),
    };
}

/// Everything that the parts of `known` hold.
fn export(
    rewrite: &Rewrite<'_>,
    known: &OperatorState,
    visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(backend) = &rewrite.node.state else { return Ok(()) };
    let scope = contract::StateScope { states: known.states.clone(), ..rewrite.scope() };
    let listed = known.parts.iter().flat_map(|part| part.objects.iter().map(move |object| (part, object)));
    let mut parts = listed.map(|(part, object)| {
        Ok(StatePart { key_groups: part.key_groups.clone(), segments: rewrite.objects.get(object)? })
    });
    backend.restore(scope, &mut parts)?.export(visit)
}
