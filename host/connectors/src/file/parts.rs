//! The names of the parts that a sink writes which does not stage.
//!
//! In a job without checkpoints a subtask has one part, which a later run replaces or refuses. In a job with
//! checkpoints each generation has parts of its own, so that what an earlier one wrote stays.

use contract::WriterTask;
use model::LineageId;

/// The endings of the parts that sinks write.
const ENDINGS: [&str; 6] = [".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".txt", ".txt.gz"];

/// A part by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartName {
    /// Of a job without checkpoints.
    Plain { subtask: u32, ending: &'static str },
    /// Of a job with checkpoints.
    OfLineage(LineageId),
}

/// Whether the job of a writer has checkpoints.
pub(super) fn has_checkpoints(task: &WriterTask) -> bool {
    task.generation.0 > 0
}

/// The name of a writer's part.
pub(super) fn name(task: &WriterTask, ending: &str) -> String {
    let subtask = task.subtask.0;
    if has_checkpoints(task) {
        lineage_name(subtask, task.lineage, task.generation.0, ending)
    } else {
        plain_name(subtask, ending)
    }
}

fn plain_name(subtask: u32, ending: &str) -> String {
    format!("part-{subtask:05}{ending}")
}

fn lineage_name(subtask: u32, lineage: LineageId, generation: u64, ending: &str) -> String {
    format!("part-{subtask:05}-{lineage}-{generation:010}{ending}")
}

/// Which part a name is that a sink gives, of whatever format. A name that a sink would write otherwise is none.
pub(super) fn parse(name: &str) -> Option<PartName> {
    let (stem, _) = name.strip_prefix("part-")?.split_once('.')?;
    let ending = ENDINGS.into_iter().find(|ending| name == format!("part-{stem}{ending}"))?;
    let mut pieces = stem.split('-');
    let subtask = pieces.next()?.parse().ok()?;
    let part = match (pieces.next(), pieces.next()) {
        (None, _) => (plain_name(subtask, ending), PartName::Plain { subtask, ending }),
        (Some(lineage), Some(generation)) => {
            let (lineage, generation) = (LineageId::parse(lineage)?, generation.parse().ok()?);
            (lineage_name(subtask, lineage, generation, ending), PartName::OfLineage(lineage))
        }
        _ => return None,
    };
    (part.0 == name).then_some(part.1)
}

#[cfg(test)]
mod tests {
    use model::{Generation, Parallelism, SubtaskIndex};

    use super::*;

    #[test]
    fn a_part_is_known_by_its_name_and_nothing_else_is() {
        let plain = WriterTask::plain(SubtaskIndex(3), Parallelism(4));
        let of_lineage = WriterTask { lineage: LineageId(7), generation: Generation(2), ..plain };
        assert_eq!(parse(&name(&plain, ".csv.gz")), Some(PartName::Plain { subtask: 3, ending: ".csv.gz" }));
        assert_eq!(parse(&name(&of_lineage, ".txt")), Some(PartName::OfLineage(LineageId(7))));
        for other in [
            "part-3.csv",
            "part-000003.csv",
            "part-00003.parquet",
            "part-00003-0000000000000007.txt",
            "part-00003-0000000000000007-2.txt",
            "part-00003-0000000000000007-0000000002-1.txt",
            "part-+0003.csv",
            "notes.txt",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
