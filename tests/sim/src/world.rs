//! A run: hosts come and go around stores and a target that stay.

use std::time::Duration;

use contract::CheckpointStore;
use contract::doubles::{Fault, MemoryCheckpoints, MemorySnapshots, StoreCall};
use model::{Epoch, ObjectNumber};
use protocol::manifest::{self, LogRecord};

use crate::bugs::Bug;
use crate::host::{Host, Over};
use crate::input::Input;
use crate::oracle::{Violation, check_output};
use crate::restore;
use crate::rng::Rng;
use crate::target::Target;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Splits of the source.
    pub splits: usize,
    /// Records of each.
    pub records: usize,
    /// Keys of each.
    pub keys: usize,
    /// After so many steps nothing goes wrong any more.
    pub calm_after: u64,
    /// After so many the run is stuck.
    pub max_steps: u64,
    /// A mistake to make.
    pub bug: Option<Bug>,
}

impl Default for Options {
    fn default() -> Self {
        Self { splits: 2, records: 60, keys: 7, calm_after: 6_000, max_steps: 60_000, bug: None }
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps until the job was finished.
    pub steps: u64,
    /// A digest of every step: two runs with the same one went the same way.
    pub trace: u64,
    /// Hosts that were started.
    pub hosts: u32,
    /// Hosts that were killed.
    pub crashes: u32,
    /// Hosts that found themselves replaced.
    pub fenced: u32,
    /// Manifests that were created.
    pub manifests: u32,
    /// Epochs that were aborted.
    pub aborts: u32,
}

/// Everything but the hosts.
pub(crate) struct Surroundings {
    pub(crate) rng: Rng,
    pub(crate) input: Input,
    pub(crate) log: MemoryCheckpoints,
    pub(crate) objects: MemorySnapshots,
    pub(crate) target: Target,
    pub(crate) now: Duration,
    pub(crate) bug: Option<Bug>,
    pub(crate) is_calm: bool,
    pub(crate) hosts_started: u32,
    /// The newest manifest that is in the log, whoever knows of it.
    pub(crate) newest_manifest: Option<Epoch>,
    pub(crate) report: Report,
}

impl Surroundings {
    /// Notes a step in the digest.
    pub(crate) fn note(&mut self, what: u64) {
        self.report.trace = (self.report.trace ^ what).wrapping_mul(0x0100_0000_01b3).rotate_left(5);
    }

    /// Looks whether a creation took effect, whatever its caller was told.
    pub(crate) fn look_at(&mut self, number: ObjectNumber) {
        let found = self.log.read(number).ok().flatten().and_then(|object| manifest::decode(&object.body).ok());
        if let Some(LogRecord::Complete(manifest)) = found
            && self.newest_manifest < Some(manifest.epoch)
        {
            self.newest_manifest = Some(manifest.epoch);
            self.report.manifests += 1;
        }
    }

    /// Arranges that a call of the medium goes wrong.
    fn disturb(&self) {
        const CALLS: [StoreCall; 3] = [StoreCall::Create, StoreCall::Put, StoreCall::Get];
        let fault = if self.rng.once_in(2) { Fault::NoAnswer } else { Fault::AnswerLost };
        match CALLS.get(self.rng.below(CALLS.len())) {
            Some(StoreCall::Create) => self.log.inject(StoreCall::Create, fault, 1),
            Some(call) => self.objects.inject(*call, fault, 1),
            None => {}
        }
    }
}

/// Runs one simulation.
///
/// # Errors
/// What the oracle found.
pub fn run(seed: u64, options: &Options) -> Result<Report, Violation> {
    let rng = Rng::new(seed);
    let input = Input::draw(&rng, options.splits, options.records, options.keys);
    let mut around = Surroundings {
        rng,
        input,
        log: MemoryCheckpoints::new(),
        objects: MemorySnapshots::new(),
        target: Target::default(),
        now: Duration::ZERO,
        bug: options.bug,
        is_calm: false,
        hosts_started: 0,
        newest_manifest: None,
        report: Report::default(),
    };
    let mut hosts: Vec<Host> = Vec::new();
    for step in 0..options.max_steps {
        around.is_calm = step >= options.calm_after;
        around.target.is_calm = around.is_calm;
        around.now += Duration::from_millis(around.rng.below(8) as u64);
        around.report.steps = step;
        come_and_go(&mut around, &mut hosts)?;
        let turn = around.rng.below(hosts.len());
        let Some(host) = hosts.get_mut(turn) else { continue };
        around.note(u64::from(host.number));
        host.step(&mut around)?;
        match host.is_over {
            None => {}
            Some(Over::Finished) => {
                check_output(&around.input, &around.target.visible)?;
                return Ok(Report { hosts: around.hosts_started, ..around.report });
            }
            Some(Over::Fenced) => {
                around.report.fenced += 1;
                hosts.remove(turn);
            }
            Some(Over::Failed) => {
                hosts.remove(turn);
            }
        }
    }
    Err(Violation::Stuck { steps: options.max_steps })
}

/// Hosts are killed, started, and started beside one that still runs; the medium is disturbed.
fn come_and_go(around: &mut Surroundings, hosts: &mut Vec<Host>) -> Result<(), Violation> {
    if !around.is_calm {
        if around.rng.once_in(40) {
            around.disturb();
        }
        if !hosts.is_empty() && around.rng.once_in(250) {
            hosts.remove(around.rng.below(hosts.len()));
            around.report.crashes += 1;
        }
    }
    let is_second_wanted = !around.is_calm && hosts.len() == 1 && around.rng.once_in(400);
    if hosts.is_empty() || is_second_wanted {
        hosts.extend(restore::start(around)?);
    }
    Ok(())
}
