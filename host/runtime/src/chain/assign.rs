//! Keys and event times that a function gives itself, asked for where its records come from.

use std::sync::Arc;

use contract::{FunctionFactory, ProcessError, Task, UserFunction};
use model::{Column, EventTime, RecordBatch};
use protocol::isolation::{Outcome, Search, Step};

use super::context::{Context, Flow, Responsible};
use super::edge::null_key;
use super::function::wrong_of;

/// An instance of a function that only ever assigns.
pub(crate) struct Assigner {
    factory: Arc<dyn FunctionFactory>,
    task: Task,
    is_keyed: bool,
    function: Option<Box<dyn UserFunction>>,
}

/// What was assigned, one of each per row; rows that are lost have empty ones.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// `None` for a function that is not keyed.
    pub(crate) keys: Option<Column>,
    pub(crate) timestamps: Vec<EventTime>,
}

impl Assigner {
    pub(crate) fn new(factory: Arc<dyn FunctionFactory>, task: Task) -> Self {
        let is_keyed = factory.descriptor().keyed;
        Self { factory, task, is_keyed, function: None }
    }

    pub(crate) fn open(&mut self, consumer: &Responsible) -> Flow {
        let function = self.factory.instantiate(&self.task).map_err(|error| consumer.seam(&error))?;
        self.function = Some(function);
        Ok(())
    }

    /// Asks for key and time of every row. A row that the function cannot handle, or gives no key, is dealt
    /// with and added to `lost`, which holds on entry the rows that are not asked about.
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
        let rows = u32::try_from(batch.len()).expect("a batch has fewer than 2^32 rows");
        let not_asked = lost.clone();
        let mut keys = Column::default();
        let mut timestamps = Vec::with_capacity(batch.len());
        let mut failure = None;
        let mut search = Search::new(rows);
        loop {
            match search.next() {
                Step::Done => break,
                Step::Try { rows, fresh } => {
                    if fresh {
                        function.renew().map_err(|error| consumer.seam(&error))?;
                        consumer.metrics.renewals.add(1);
                    }
                    let fresh = function.is_fresh();
                    let asked: Vec<u32> = rows.clone().collect();
                    let values = batch.values.select(&asked);
                    match function.assign(&values) {
                        Ok((assigned, times)) => {
                            if assigned.len() != asked.len() || times.len() != asked.len() {
                                let message = format!(
                                    "`assign` gave {} keys and {} times for {} records",
                                    assigned.len(),
                                    times.len(),
                                    asked.len()
                                );
                                return Err(consumer.broken(message));
                            }
                            for (&row, key) in asked.iter().zip(assigned.iter()) {
                                keys.push(key.unwrap_or_default());
                                if key.is_none() && self.is_keyed && not_asked.binary_search(&row).is_err() {
                                    lost.push(row);
                                    consumer.refuse(batch, row, &null_key("the function assigned no key"), context)?;
                                }
                            }
                            timestamps.extend(times);
                            search.report(Outcome::Applied);
                        }
                        Err(ProcessError::Host(error)) => return Err(consumer.seam(&error)),
                        Err(ProcessError::Function(found)) => {
                            consumer.metrics.failed_calls.add(1);
                            let hint = found.row.and_then(|row| row.checked_add(rows.start));
                            failure = Some(found);
                            search.report(Outcome::Failed { hint, fresh });
                        }
                    }
                }
                Step::Condemn { row } => {
                    keys.push(&[]);
                    timestamps.push(EventTime::UNKNOWN);
                    if not_asked.binary_search(&row).is_err()
                        && let Some(failure) = &failure
                    {
                        lost.push(row);
                        consumer.refuse(batch, row, &wrong_of(failure, "assign"), context)?;
                    }
                }
            }
        }
        lost.sort_unstable();
        Ok(Assigned { keys: self.is_keyed.then_some(keys), timestamps })
    }
}

impl std::fmt::Debug for Assigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assigner").field("task", &self.task).finish_non_exhaustive()
    }
}
