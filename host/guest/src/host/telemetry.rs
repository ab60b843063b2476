//! The interface `telemetry`. What goes beyond the caps is cut or dropped and counted, never a trap:
//! nothing here affects output.

use contract::{LogLevel, LogLine};
use model::{MetricDescriptor, MetricId, MetricKind};

use crate::bindings::tidegate::flow::telemetry::{Host as TelemetryImports, Level};
use crate::caps;
use crate::check::Violation;
use crate::host::{Host, Phase, Refusal, refuse};

impl TelemetryImports for Host {
    fn log(&mut self, level: Level, row: Option<u32>, message: String) -> wasmtime::Result<()> {
        self.check_deadline()?;
        self.stage_log(level, row, message);
        Ok(())
    }

    fn add(&mut self, metric: u16, amount: f64) -> wasmtime::Result<()> {
        Ok(self.stage_metric("telemetry.add", MetricKind::Counter, metric, amount)?)
    }

    fn set(&mut self, metric: u16, value: f64) -> wasmtime::Result<()> {
        Ok(self.stage_metric("telemetry.set", MetricKind::Gauge, metric, value)?)
    }

    fn panic(&mut self, mut message: String) -> wasmtime::Result<()> {
        self.check_deadline()?;
        caps::cut(&mut message, caps::MESSAGE_BYTES);
        self.panic = Some(message);
        Ok(())
    }
}

impl Host {
    fn stage_log(&mut self, level: Level, row: Option<u32>, mut message: String) {
        let usage = &mut self.usage;
        caps::cut(&mut message, caps::LOG_LINE_BYTES);
        if usage.log_lines >= caps::LOG_LINES || usage.log_bytes + message.len() > caps::LOG_BYTES {
            usage.dropped_logs += 1;
            return;
        }
        usage.log_lines += 1;
        usage.log_bytes += message.len();
        let row = row.filter(|&row| row < self.rows);
        self.staged.logs.push(LogLine { level: log_level(level), row, message });
    }

    fn stage_metric(&mut self, call: &'static str, kind: MetricKind, id: u16, value: f64) -> Result<(), Refusal> {
        self.check_deadline()?;
        if self.phase == Phase::Describe || self.phase == Phase::Start {
            return Err(refuse(call)(Violation::Unavailable("may not be called in `describe`")));
        }
        let metric = self.descriptor.metric(MetricId(id));
        check_metric(call, metric, id, kind).map_err(refuse(call))?;
        if self.usage.metric_calls >= caps::METRIC_CALLS || !value.is_finite() {
            self.usage.dropped_metrics += 1;
            return Ok(());
        }
        self.usage.metric_calls += 1;
        self.staged.metrics.push((MetricId(id), value));
        Ok(())
    }

    /// Says in the log what was dropped.
    pub(super) fn note_dropped(&mut self) {
        let (logs, metrics) = (self.usage.dropped_logs, self.usage.dropped_metrics);
        if logs > 0 {
            self.note(format!("{logs} log lines dropped: at most {} of a batch are kept", caps::LOG_LINES));
        }
        if metrics > 0 {
            self.note(format!("{metrics} values of metrics dropped: not finite, or too many for a batch"));
        }
    }

    fn note(&mut self, message: String) {
        self.staged.logs.push(LogLine { level: LogLevel::Warn, row: None, message });
    }
}

fn check_metric(
    call: &'static str,
    metric: Option<&MetricDescriptor>,
    id: u16,
    expected: MetricKind,
) -> Result<(), Violation> {
    let name = |kind| match kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
    };
    let metric = metric.ok_or(Violation::Undeclared { what: "metric", id })?;
    if metric.kind == expected {
        return Ok(());
    }
    Err(Violation::MetricKind { name: metric.name.clone(), found: name(metric.kind), call, expected: name(expected) })
}

fn log_level(level: Level) -> LogLevel {
    match level {
        Level::Trace => LogLevel::Trace,
        Level::Debug => LogLevel::Debug,
        Level::Info => LogLevel::Info,
        Level::Warn => LogLevel::Warn,
        Level::Error => LogLevel::Error,
    }
}
