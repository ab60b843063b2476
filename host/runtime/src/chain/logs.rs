//! Log lines of functions, bounded: a function that logs every record must not drown the host.

use std::time::Duration;

use contract::{LogLevel, LogLine};
use model::{JobName, OperatorUid, RecordBatch, SubtaskIndex};

use super::context::Context;
use crate::metrics::SubtaskMetrics;

/// Lines a subtask may write in each second: enough to follow a rare event, too few to fill a disk.
const LINES_PER_SECOND: u32 = 100;

/// Hands the lines of one subtask on, up to a rate.
pub(crate) struct LogBook {
    job: JobName,
    operator: OperatorUid,
    subtask: SubtaskIndex,
    metrics: std::sync::Arc<SubtaskMetrics>,
    second: u64,
    left: u32,
    dropped: u64,
}

impl LogBook {
    pub(crate) fn new(
        job: JobName,
        operator: OperatorUid,
        subtask: SubtaskIndex,
        metrics: std::sync::Arc<SubtaskMetrics>,
    ) -> Self {
        Self { job, operator, subtask, metrics, second: 0, left: LINES_PER_SECOND, dropped: 0 }
    }

    /// Writes `lines`, about rows of `batch`, and forgets them.
    pub(crate) fn write(&mut self, lines: &mut Vec<LogLine>, batch: &RecordBatch, context: &Context) {
        if lines.is_empty() {
            return;
        }
        self.begin(context.elapsed());
        for line in lines.drain(..) {
            if self.left == 0 {
                self.dropped += 1;
                self.metrics.log_lines_dropped.add(1);
                continue;
            }
            self.left -= 1;
            let record = line.row.and_then(|row| batch.origins.get(row as usize));
            let record = record.and_then(|origin| context.registry.coordinates(origin));
            self.emit(line.level, &line.message, record.map(|record| record.to_string()).as_deref());
        }
    }

    /// Begins a new second where one has begun, and says what the last one lost.
    fn begin(&mut self, now: Duration) {
        if now.as_secs() == self.second {
            return;
        }
        self.second = now.as_secs();
        self.left = LINES_PER_SECOND;
        self.close();
    }

    /// Says what was lost since it was last said.
    pub(crate) fn close(&mut self) {
        if self.dropped > 0 {
            let text =
                format!("{} log lines dropped: at most {LINES_PER_SECOND} a second are let through", self.dropped);
            self.dropped = 0;
            self.emit(LogLevel::Warn, &text, None);
        }
    }

    fn emit(&self, level: LogLevel, message: &str, record: Option<&str>) {
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(
                    target: "tidegate::function",
                    job = self.job.as_str(),
                    operator = self.operator.as_str(),
                    subtask = self.subtask.0,
                    record,
                    "{message}"
                )
            };
        }
        match level {
            LogLevel::Trace => event!(trace),
            LogLevel::Debug => event!(debug),
            LogLevel::Info => event!(info),
            LogLevel::Warn => event!(warn),
            LogLevel::Error => event!(error),
        }
    }
}

#[cfg(test)]
mod tests;
