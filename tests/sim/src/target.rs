//! What the sink publishes to: records and a ledger, changed together.

use std::collections::BTreeMap;

use contract::SnapshotStore;
use contract::doubles::MemorySnapshots;
use model::{Epoch, LineageId, ObjectHandle, StagedOutput};

use crate::bugs::Bug;
use crate::oracle::Violation;
use crate::rng::Rng;

/// Output of the job: a key and the count it reached.
pub(crate) type Line = (String, u64);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Target {
    pub(crate) visible: Vec<Line>,
    ledger: BTreeMap<LineageId, Epoch>,
    /// Whether the target may stay silent.
    pub(crate) is_calm: bool,
}

/// How a call ended, as its caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    NoAnswer,
}

impl Target {
    pub(crate) fn last_published(&self, lineage: LineageId) -> Option<Epoch> {
        self.ledger.get(&lineage).copied()
    }

    /// Makes an epoch visible unless the ledger has it. It may be silent before or after.
    pub(crate) fn publish(
        &mut self,
        lineage: LineageId,
        epoch: Epoch,
        staged: &[StagedOutput],
        objects: &MemorySnapshots,
        rng: &Rng,
        bug: Option<Bug>,
    ) -> Result<Answer, Violation> {
        let is_silent = !self.is_calm && rng.once_in(6);
        let acts = !is_silent || rng.once_in(2);
        if acts && (self.last_published(lineage) < Some(epoch) || bug == Some(Bug::SkipLedger)) {
            let mut published = Vec::new();
            for output in staged {
                let missing = || Violation::StagedOutputGone { epoch };
                let handle = parse(&output.body).ok_or_else(missing)?;
                match objects.get(&handle) {
                    Ok(pieces) => published.extend(pieces.iter().flat_map(|piece| lines(piece))),
                    // It is there, and the medium did not answer.
                    Err(_) if objects.names().contains(&handle.name) => return Ok(Answer::NoAnswer),
                    Err(_) => return Err(missing()),
                }
            }
            self.visible.extend(published);
            let known = self.ledger.entry(lineage).or_insert(epoch);
            *known = (*known).max(epoch);
        }
        Ok(if is_silent { Answer::NoAnswer } else { Answer::Done })
    }
}

/// The object of staged output, as the body of [`StagedOutput`].
pub(crate) fn body(handle: &ObjectHandle) -> Vec<u8> {
    format!("{} {} {}", handle.name, handle.length_bytes, handle.checksum).into_bytes()
}

fn parse(body: &[u8]) -> Option<ObjectHandle> {
    let text = std::str::from_utf8(body).ok()?;
    let mut words = text.split(' ');
    Some(ObjectHandle {
        name: words.next()?.to_owned(),
        length_bytes: words.next()?.parse().ok()?,
        checksum: words.next()?.parse().ok()?,
    })
}

/// Lines of output as bytes.
pub(crate) fn bytes(lines: &[Line]) -> Vec<u8> {
    lines.iter().map(|(key, count)| format!("{key} {count}\n")).collect::<String>().into_bytes()
}

fn lines(bytes: &[u8]) -> Vec<Line> {
    let text = String::from_utf8_lossy(bytes);
    let line = |line: &str| line.split_once(' ').and_then(|(key, count)| Some((key.to_owned(), count.parse().ok()?)));
    text.lines().filter_map(line).collect()
}
