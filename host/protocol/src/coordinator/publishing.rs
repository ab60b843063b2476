//! What each sink has to publish.

use std::collections::{BTreeSet, VecDeque};

use model::Epoch;

use crate::coordinator::{Command, SinkNumber};

/// The epochs that sinks have not published, by sink.
#[derive(Clone, Debug)]
pub(super) struct Publishing {
    sinks: Vec<VecDeque<Epoch>>,
    is_started: bool,
}

impl Publishing {
    pub(super) fn new(pending: Vec<Vec<Epoch>>) -> Self {
        Self { sinks: pending.into_iter().map(VecDeque::from).collect(), is_started: false }
    }

    pub(super) fn has_no_sinks(&self) -> bool {
        self.sinks.is_empty()
    }

    /// Commands what was pending at the start, once.
    pub(super) fn start(&mut self, commands: &mut Vec<Command>) {
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        for (sink, epochs) in (0u32..).map(SinkNumber).zip(&self.sinks) {
            commands.extend(epochs.iter().map(|epoch| Command::Publish { sink, epoch: *epoch }));
        }
    }

    /// A manifest lists `epoch`: every sink publishes it.
    pub(super) fn complete(&mut self, epoch: Epoch, commands: &mut Vec<Command>) {
        self.start(commands);
        for (sink, epochs) in (0u32..).map(SinkNumber).zip(&mut self.sinks) {
            epochs.push_back(epoch);
            commands.push(Command::Publish { sink, epoch });
        }
    }

    /// Notes that `sink` published everything up to `epoch`; returns the epochs that all sinks have published by
    /// that.
    pub(super) fn published(&mut self, sink: SinkNumber, epoch: Epoch) -> Vec<Epoch> {
        let Some(epochs) = self.sinks.get_mut(sink.0 as usize) else { return Vec::new() };
        let done = epochs.partition_point(|pending| *pending <= epoch);
        let mut done: Vec<Epoch> = epochs.drain(..done).collect();
        done.retain(|epoch| self.sinks.iter().all(|pending| !pending.contains(epoch)));
        done
    }

    /// How many epochs some sink has not published.
    pub(super) fn backlog(&self) -> usize {
        match self.sinks.as_slice() {
            [one] => one.len(),
            several => several.iter().flatten().collect::<BTreeSet<_>>().len(),
        }
    }
}
