//! What the coordinator commands, done; and what others may ask for, written down.

use std::sync::Arc;

use model::{Blame, Epoch, HostTime, Retry};
use protocol::coordinator::{Command, Hold};
use protocol::host_clock::Alarm;
use protocol::manifest::{CheckpointKind, LogRecord, encode};
use protocol::ownership::Fenced;

use super::super::failures;
use super::super::status::{CheckpointCounts, ConditionKind};
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
                tracing::warn!(epoch = epoch.0, "checkpoint aborted: {reason}");
                link.abort(epoch);
                control.wake_all();
            }
            Command::CreateManifest { epoch, kind, owed_from } => self.create(epoch, kind, owed_from),
            Command::Complete { epoch, .. } => {
                self.state.counts.complete += 1;
                link.complete(epoch);
            }
            Command::Publish { sink, epoch } => {
                if let Some(sink) = self.sinks.get(sink.0 as usize) {
                    sink.publish(epoch, self.stock.staged(&sink.uid, epoch));
                }
            }
            Command::Retain { .. } => {
                if !std::mem::replace(&mut self.state.is_sweeping, true) {
                    self.pool.give(Work::Sweep);
                }
            }
            Command::Answer { asker, outcome } => {
                if let Some(asker) = self.state.askers.remove(&asker) {
                    self.state.answers.push((asker, outcome.map_err(|reason| reason.to_string())));
                }
            }
            Command::EndSources => {
                link.let_end();
                control.wake_all();
            }
            Command::Finish => self.state.is_over = true,
            Command::Fail(reason) => control.fail(failures::of(&reason)),
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
        let uptime = self.medium.control.elapsed();
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
        self.status.condition(ConditionKind::ClockJumped, None, wrong, uptime);
        self.status.condition(ConditionKind::StoreAway, None, away, uptime);
        self.status.condition(ConditionKind::StoreFull, None, full, uptime);
        self.status.condition(ConditionKind::TooManyUnpublished, None, unpublished, uptime);
        self.status.condition(ConditionKind::BacklogFull, None, stalled, uptime);
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
        let uid = self.sinks.get(sink).map(|sink| &sink.uid);
        let uptime = self.medium.control.elapsed();
        self.status.condition(ConditionKind::NotPublished, uid, message, uptime);
    }
}
