//! Keys and event times that a function gives itself, asked for where its records come from.

use std::sync::Arc;

use contract::{Failure, FunctionFactory, ProcessError, Task, UserFunction};
use model::{Column, EventTime, OptionalColumn, RecordBatch};
use protocol::isolation::{Outcome, Search, Step};

use super::context::{Context, Flow, Responsible};
use super::edge::null_key;
use super::function::wrong_of;
use super::logs::LogBook;
use crate::batches::rows_without;
use crate::metrics::SubtaskMetrics;

/// An instance of a function that only ever assigns.
pub(crate) struct Assigner {
    factory: Arc<dyn FunctionFactory>,
    task: Task,
    is_keyed: bool,
    function: Option<Box<dyn UserFunction>>,
    logs: LogBook,
}

/// What was assigned, one of each per row; rows that are lost have empty ones.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// `None` for a function that is not keyed.
    pub(crate) keys: Option<Column>,
    pub(crate) timestamps: Vec<EventTime>,
}

/// What came of a call.
enum Answer {
    Given(OptionalColumn, Vec<EventTime>),
    Failed(Failure),
}

impl Assigner {
    pub(crate) fn new(factory: Arc<dyn FunctionFactory>, task: Task, metrics: Arc<SubtaskMetrics>) -> Self {
        let is_keyed = factory.descriptor().keyed;
        let logs = LogBook::new(task.job.clone(), task.operator.clone(), task.subtask, metrics);
        Self { factory, task, is_keyed, function: None, logs }
    }

    pub(crate) fn open(&mut self, consumer: &Responsible) -> Flow {
        let function = self.factory.instantiate(&self.task).map_err(|error| consumer.seam(&error))?;
        self.function = Some(function);
        Ok(())
    }

    /// Says what is left to say.
    pub(crate) fn close(&mut self) {
        self.logs.close();
    }

    /// Asks for key and time of every row. A row that the function cannot handle, or gives no key, is dealt
    /// with and added to `lost`, which holds on entry, sorted, the rows that are not asked about.
    pub(crate) fn assign(
        &mut self,
        batch: &RecordBatch,
        lost: &mut Vec<u32>,
        consumer: &Responsible,
        context: &mut Context,
    ) -> Flow<Assigned> {
        let Some(function) = &mut self.function else {
            return Err(consumer.broken("the function that assigns was never opened"));
        };
        let kept = rows_without(batch.len(), lost);
        let mut keys = Column::default();
        let mut timestamps = Vec::with_capacity(batch.len());
        let mut failure = None;
        let mut search = Search::new(u32::try_from(kept.len()).expect("a batch has fewer than 2^32 rows"));
        loop {
            match search.next() {
                Step::Done => break,
                Step::Try { rows, fresh } => {
                    if fresh {
                        function.renew().map_err(|error| consumer.seam(&error))?;
                        consumer.metrics.renewals.add(1);
                    }
                    let fresh = function.is_fresh();
                    let asked = kept.get(rows.start as usize..rows.end as usize);
                    let asked = asked.expect("the search is through the kept rows");
                    match ask(function.as_mut(), &mut self.logs, batch, asked, consumer, context)? {
                        Answer::Given(assigned, times) => {
                            for (&row, key) in asked.iter().zip(assigned.iter()) {
                                keys.push(key.unwrap_or_default());
                                if key.is_none() && self.is_keyed {
                                    lost.push(row);
                                    consumer.refuse(batch, row, &null_key("the function assigned no key"), context)?;
                                }
                            }
                            timestamps.extend(times);
                            search.report(Outcome::Applied);
                        }
                        Answer::Failed(found) => {
                            let hint = found.row.and_then(|row| row.checked_add(rows.start));
                            failure = Some(found);
                            search.report(Outcome::Failed { hint, fresh });
                        }
                    }
                }
                Step::Condemn { row } => {
                    keys.push(&[]);
                    timestamps.push(EventTime::UNKNOWN);
                    let failure: Failure = failure.take().expect("a row is condemned for the failure before");
                    let row = *kept.get(row as usize).expect("the search is through the kept rows");
                    lost.push(row);
                    consumer.refuse(batch, row, &wrong_of(&failure, "assign"), context)?;
                }
            }
        }
        lost.sort_unstable();
        if kept.len() < batch.len() {
            (keys, timestamps) = scatter(&kept, batch.len(), &keys, &timestamps);
        }
        Ok(Assigned { keys: self.is_keyed.then_some(keys), timestamps })
    }
}

/// One call of the function. What it says of rows that are asked about again is forgotten.
fn ask(
    function: &mut dyn UserFunction,
    logs: &mut LogBook,
    batch: &RecordBatch,
    asked: &[u32],
    consumer: &Responsible,
    context: &Context,
) -> Flow<Answer> {
    let is_last_try = asked.len() == 1 && function.is_fresh();
    let answer = function.assign(&batch.values.select(asked));
    consumer.metrics.fuel_used.set(function.fuel_used());
    let mut said = function.take_said();
    if is_last_try || !matches!(answer, Err(ProcessError::Function(_))) {
        for line in &mut said.logs {
            line.row = line.row.and_then(|row| asked.get(row as usize).copied());
        }
        logs.write(&mut said.logs, batch, context);
    }
    if answer.is_ok() {
        for (metric, value) in said.metrics {
            consumer.metrics.record_custom(usize::from(metric.0), value);
        }
    }
    match answer {
        Ok((keys, times)) if keys.len() == asked.len() && times.len() == asked.len() => Ok(Answer::Given(keys, times)),
        Ok((keys, times)) => Err(consumer.broken(format!(
            "`assign` gave {} keys and {} times for {} records",
            keys.len(),
            times.len(),
            asked.len()
        ))),
        Err(ProcessError::Host(error)) => Err(consumer.seam(&error)),
        Err(ProcessError::Function(failure)) => {
            consumer.metrics.failed_calls.add(1);
            Ok(Answer::Failed(failure))
        }
    }
}

/// The answers about the rows `kept`, at their places among all rows.
fn scatter(kept: &[u32], rows: usize, keys: &Column, timestamps: &[EventTime]) -> (Column, Vec<EventTime>) {
    let mut answers = kept.iter().zip(keys.iter()).zip(timestamps).peekable();
    let mut all = (Column::default(), Vec::with_capacity(rows));
    for (row, _) in (0u32..).zip(0..rows) {
        let answer = answers.next_if(|((kept, _), _)| **kept == row);
        let (key, time) = answer.map_or((&[][..], EventTime::UNKNOWN), |((_, key), time)| (key, *time));
        all.0.push(key);
        all.1.push(time);
    }
    all
}

impl std::fmt::Debug for Assigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assigner").field("task", &self.task).finish_non_exhaustive()
    }
}
