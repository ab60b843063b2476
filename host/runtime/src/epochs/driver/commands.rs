//! What the coordinator commands, done; and what others may ask for, written down.

use std::sync::Arc;

use model::{Blame, Epoch, HostTime, Retry};
use protocol::coordinator::{Command, Hold};
use protocol::host_clock::Alarm;
use protocol::manifest::{CheckpointKind, LogRecord, encode};
use protocol::ownership::Fenced;

use super::super::failures;
use super::super::status::{About, CheckpointCounts, ConditionKind};
use super::super::words;
use super::super::work::{Medium, Work};
use super::{Creating, Driver, draw_nonce};

impl Driver {
    /// Does what the coordinator commands.
    pub(super) fn act(&mut self, command: Command) {
        self.state.is_news = true;
        let Medium { link, control, .. } = &self.medium;
        match command {
            Command::Trigger { epoch, .. } => {
                self.state.triggered.insert(epoch, control.clock().elapsed());
                link.trigger(epoch);
                control.wake_all();
            }
            Command::Abort { epoch, reason } => {
                self.state.counts.aborted += 1;
                let reason = words::of_abort(&reason, &self.stock.shape);
                tracing::warn!(epoch = epoch.0, "checkpoint aborted: {reason}");
                let before = self.state.aborted.as_ref().map_or(0, |(times, _)| *times);
                self.state.aborted = Some((before + 1, format!("epoch {epoch}: {reason}")));
                link.abort(epoch);
                control.wake_all();
            }
            Command::CreateManifest { epoch, kind, owed_from } => self.create(epoch, kind, owed_from),
            Command::Complete { epoch, .. } => {
                self.state.counts.complete += 1;
                self.state.aborted = None;
                link.complete(epoch);
            }
            Command::Publish { sink, epoch } => {
                if let Some(sink) = self.sinks.get(sink.0 as usize) {
                    sink.publish(epoch, self.stock.staged(&sink.uid, epoch));
                }
            }
            Command::Retain { .. } => {
                if std::mem::replace(&mut self.state.is_sweeping, true) {
                    self.state.sweeps_again = true;
                } else {
                    self.pool.give(Work::Sweep);
                }
            }
            Command::Answer { asker, outcome } => {
                if let Some(asker) = self.state.askers.remove(&asker) {
                    self.state
                        .answers
                        .push((asker, outcome.map_err(|reason| words::of_abort(&reason, &self.stock.shape))));
                }
            }
            Command::EndSources => {
                link.let_end();
                control.wake_all();
            }
            Command::Finish => self.state.is_over = true,
            Command::Fail(reason) => control.fail(failures::of(&reason, &self.stock.shape)),
        }
    }

    fn create(&mut self, epoch: Epoch, kind: CheckpointKind, owed_from: Epoch) {
        if self.state.creating.as_ref().is_none_or(|creating| creating.drawn.manifest.epoch != epoch) {
            let now = self.read_clock();
            let drawn = self.stock.draw(epoch, kind, owed_from, now, &self.registry);
            let body = Arc::new(encode(&LogRecord::Complete(Box::new(drawn.manifest.clone()))));
            let number = match self.ownership.next_number() {
                Ok(number) => number,
                Err(fenced) => {
                    let failure = failures::failure(Fenced::CODE, Blame::External, Retry::No, fenced.to_string());
                    return self.medium.control.fail(failure);
                }
            };
            let nonce = draw_nonce(self.randomness.as_ref());
            self.state.creating = Some(Creating { drawn, number, nonce, body });
        }
        if let Some(Creating { number, nonce, body, .. }) = &self.state.creating {
            self.pool.give(Work::Create { epoch, number: *number, nonce: *nonce, body: Arc::clone(body) });
        }
    }

    fn read_clock(&mut self) -> HostTime {
        let clock = self.medium.control.clock();
        self.clock.read(clock.now(), clock.elapsed())
    }

    /// Writes down what others may ask for.
    pub(super) fn say(&mut self) {
        self.read_clock();
        let wrong = self.clock.alarm().map(|alarm| match alarm {
            Alarm::Ahead(by) => format!("the clock of the machine jumped ahead by {by:?}, and is not followed yet"),
            Alarm::Behind(by) => format!("the clock of the machine is behind by {by:?}: processing time stands still"),
        });
        let hold = self.coordinator.hold();
        let trouble = |is_so: bool| is_so.then(|| self.state.trouble.clone());
        let away = trouble(hold == Some(Hold::StoreAway));
        let full = trouble(hold == Some(Hold::StoreFull));
        let unpublished = match hold {
            Some(Hold::Backlog { unpublished }) => Some(format!("{unpublished} complete epochs are not published")),
            _ => None,
        };
        let backlog = self.medium.link.backlog_bytes();
        let is_full = self.medium.link.is_full();
        let stalled = is_full.then(|| format!("{backlog} bytes wait to become durable or visible: sources wait"));
        let waiting = self.coordinator.waiting().filter(|waiting| waiting.for_so_long >= self.slow_after);
        let slow = waiting.map(|waiting| words::of_waiting(&waiting, &self.stock.shape));
        let aborted = self.state.aborted.as_ref().map(|(times, last)| format!("{times} in a row, the last was {last}"));
        for (kind, message) in [
            (ConditionKind::ClockJumped, wrong),
            (ConditionKind::StoreAway, away),
            (ConditionKind::StoreFull, full),
            (ConditionKind::TooManyUnpublished, unpublished),
            (ConditionKind::BacklogFull, stalled),
            (ConditionKind::CheckpointSlow, slow),
            (ConditionKind::CheckpointsAborted, aborted),
        ] {
            self.status.condition(kind, About::Job, message, self.uptime());
        }
        if std::mem::take(&mut self.state.is_news) {
            let counts = CheckpointCounts {
                unpublished: self.coordinator.unpublished() as u64,
                backlog_bytes: backlog,
                ..self.state.counts.clone()
            };
            self.status.note(self.coordinator.history(), counts);
        }
        for (asker, answer) in self.state.answers.drain(..) {
            // Who asked may have left.
            asker.send(answer).ok();
        }
    }

    pub(super) fn condition_of_sink(&self, sink: usize, message: Option<String>) {
        if let Some(sink) = self.sinks.get(sink) {
            let about = About::Operator(&sink.uid);
            self.status.condition(ConditionKind::NotPublished, about, message, self.uptime());
        }
    }
}
