//! What the operators of a chain share: where their output waits, and how they stop.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use model::job::OnError;
use model::{
    Barrier, BatchLimits, Blame, Column, EventTime, InputId, ModuleDigest, OperatorUid, Origins, Position, RecordBatch,
    Retry, SourceId, SplitIndex, SubtaskIndex, TimerClock, Values,
};
use protocol::on_error::{Fate, fate};

use super::barriers::Arrival;
use super::outlet::Outlet;
use crate::JobFailure;
use crate::control::Control;
use crate::dead_letter::{self, Verdict};
use crate::epochs::handed::{Handed, HandedPart, HandedTimes};
use crate::epochs::link::{EpochLink, Message};
use crate::metrics::SubtaskMetrics;
use crate::registry::Registry;

/// The codes of what functions do, as [`super::function::wrong_of`] gives them.
const CODES_OF_FUNCTIONS: RangeInclusive<&str> = "E0510"..="E0515";

/// Why a chain stops before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It failed.
    Failed(Box<JobFailure>),
    /// Somebody else did, or has stopped the job.
    Quiet,
}

/// What comes of a step.
pub(crate) type Flow<T = ()> = Result<T, Stop>;

impl From<JobFailure> for Stop {
    fn from(failure: JobFailure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// A batch for an operator of the same chain.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) operator: usize,
    pub(crate) input: InputId,
    pub(crate) batch: RecordBatch,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) control: Arc<Control>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) limits: BatchLimits,
    pub(crate) pending: VecDeque<Delivery>,
    /// Time spent waiting for full queues.
    pub(crate) blocked: Duration,
    /// `None` in a job without checkpoints.
    pub(crate) epochs: Option<Arc<EpochLink>>,
    dead_letters: Option<DeadLetters>,
}

/// Where dead letters go.
#[derive(Debug)]
struct DeadLetters {
    outlet: Outlet,
    documents: Column,
    origins: Origins,
}

impl Context {
    pub(crate) fn new(
        control: Arc<Control>,
        registry: Arc<Registry>,
        limits: BatchLimits,
        epochs: Option<Arc<EpochLink>>,
        dead_letters: Option<Outlet>,
    ) -> Self {
        let dead_letters = dead_letters.map(|outlet| DeadLetters {
            outlet,
            documents: Column::default(),
            origins: Origins::default(),
        });
        Self { control, registry, limits, pending: VecDeque::new(), blocked: Duration::ZERO, epochs, dead_letters }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.control.clock().elapsed()
    }

    /// Sends what waits to be sent, as far as the rules of batches say so.
    pub(crate) fn tick(&mut self, now: Duration, is_idle: bool) -> Flow {
        let Some(mut letters) = self.dead_letters.take() else { return Ok(()) };
        let sent = letters.flush(self).and_then(|()| letters.outlet.tick(now, is_idle, self));
        self.dead_letters = Some(letters);
        sent
    }

    /// Sends the dead letters of the epoch, and its barrier after them.
    pub(crate) fn barrier(&mut self, barrier: Barrier) -> Flow {
        let Some(mut letters) = self.dead_letters.take() else { return Ok(()) };
        let sent = letters.flush(self).and_then(|()| letters.outlet.barrier(barrier, self));
        self.dead_letters = Some(letters);
        sent
    }

    /// Sends the last dead letters and says that no more follow.
    pub(crate) fn close(&mut self) -> Flow {
        let Some(mut letters) = self.dead_letters.take() else { return Ok(()) };
        letters.flush(self)?;
        letters.outlet.close(self)
    }

    fn keep(&mut self, document: &[u8], origin: (SourceId, SplitIndex, Position)) -> Flow {
        let Some(mut letters) = self.dead_letters.take() else { return Ok(()) };
        letters.documents.push(document);
        letters.origins.push(origin.0, origin.1, origin.2);
        let is_full =
            letters.documents.bytes().len() >= self.limits.max_bytes || letters.documents.len() >= self.limits.max_rows;
        let sent = if is_full { letters.flush(self) } else { Ok(()) };
        self.dead_letters = Some(letters);
        sent
    }
}

impl DeadLetters {
    fn flush(&mut self, context: &mut Context) -> Flow {
        if self.documents.is_empty() {
            return Ok(());
        }
        let values = Values::from(std::mem::take(&mut self.documents));
        let timestamps = vec![EventTime::UNKNOWN; values.len()];
        let batch =
            RecordBatch { values, timestamps, origins: std::mem::take(&mut self.origins), ..RecordBatch::default() };
        self.outlet.push(batch, context)
    }
}

/// Who answers for a bad record: the operator whose `on_error` it meets.
#[derive(Clone, Debug)]
pub(crate) struct Responsible {
    pub(crate) operator: OperatorUid,
    pub(crate) subtask: SubtaskIndex,
    pub(crate) module: Option<ModuleDigest>,
    pub(crate) policy: OnError,
    pub(crate) metrics: Arc<SubtaskMetrics>,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The code of its page.
    pub(crate) code: &'static str,
    /// Its name in counters.
    pub(crate) kind: &'static str,
    /// What happened, for a person.
    pub(crate) message: String,
}

impl Wrong {
    /// A function answers for what it did; what cannot be read as a record was so before it came here.
    fn blame(&self) -> Blame {
        if CODES_OF_FUNCTIONS.contains(&self.code) { Blame::Guest } else { Blame::External }
    }
}

/// A bad record, as it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bad<'a> {
    /// A row of a batch, and its partition key where known.
    Record { batch: &'a RecordBatch, row: usize, key: Option<&'a [u8]> },
    /// What never became a record.
    Rejected(&'a contract::Rejected, SourceId),
    /// A timer of a key.
    Timer { key: &'a [u8], clock: TimerClock, at: i64 },
}

impl Bad<'_> {
    fn origin(&self) -> Option<(SourceId, SplitIndex, Position)> {
        match self {
            Bad::Record { batch, row, .. } => batch.origins.get(*row),
            Bad::Rejected(rejected, source) => Some((*source, rejected.split, rejected.position)),
            Bad::Timer { .. } => None,
        }
    }
}

impl Responsible {
    /// Deals with a bad record as the operator's `on_error` says.
    pub(crate) fn deal(&self, bad: Bad<'_>, wrong: &Wrong, context: &mut Context) -> Flow {
        self.metrics.count_faults(wrong.kind, 1);
        let origin = bad.origin();
        match fate(self.policy, context.dead_letters.is_some()) {
            Fate::Skip => {
                self.metrics.skipped.add(1);
                Ok(())
            }
            Fate::Fail => {
                let record = origin.and_then(|origin| context.registry.coordinates(origin));
                Err(self.failure(wrong, record).into())
            }
            Fate::DeadLetter => {
                self.metrics.dead_letters.add(1);
                let coordinates = origin.and_then(|origin| context.registry.coordinates(origin));
                let verdict = Verdict {
                    operator: &self.operator,
                    subtask: self.subtask,
                    module: self.module,
                    origin: coordinates.as_ref(),
                    code: wrong.code,
                    kind: wrong.kind,
                    message: &wrong.message,
                };
                let document = match bad {
                    Bad::Record { batch, row, key } => dead_letter::of_record(batch, row, key, &verdict),
                    Bad::Rejected(rejected, _) => {
                        dead_letter::of_rejected(&rejected.bytes, rejected.length_bytes, &verdict)
                    }
                    Bad::Timer { key, clock, at } => dead_letter::of_timer(key, clock, at, &verdict),
                };
                context.keep(&document, origin.unwrap_or_default())
            }
        }
    }

    fn failure(&self, wrong: &Wrong, record: Option<crate::Coordinates>) -> JobFailure {
        JobFailure {
            operator: self.operator.clone(),
            subtask: self.subtask,
            record,
            code: Some(wrong.code.to_owned()),
            blame: wrong.blame(),
            retry: Retry::No,
            message: wrong.message.clone(),
            causes: Vec::new(),
        }
    }

    /// Hands over what this subtask has at a barrier; it began to gather it at `began`.
    pub(crate) fn hand_over(
        &self,
        barrier: Barrier,
        arrival: Arrival,
        began: Duration,
        what: HandedPart,
        context: &Context,
    ) {
        let Some(epochs) = &context.epochs else { return };
        let Arrival { arrived, alignment } = arrival;
        let sync = context.elapsed().saturating_sub(began);
        epochs.tell(Message::Handed(Box::new(Handed {
            operator: self.operator.clone(),
            subtask: self.subtask,
            epoch: barrier.epoch,
            watermark: barrier.watermark,
            times: HandedTimes { arrived, alignment, sync },
            what,
        })));
    }

    /// The failure of a seam, as that of this operator.
    pub(crate) fn seam(&self, error: &contract::Error) -> Stop {
        JobFailure::from_seam(&self.operator, self.subtask, error).into()
    }

    /// A broken promise of the engine itself or of what it drives.
    pub(crate) fn broken(&self, message: impl Into<String>) -> Stop {
        JobFailure::host(&self.operator, self.subtask, "E0521", message.into()).into()
    }
}
