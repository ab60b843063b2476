//! What the checkpoints of the variants cost, all rounds together.

use crate::epochs::EpochFigures;
use crate::one_run::RunResult;
use crate::report::table;
use crate::rounds::percentile;

/// A table of those variants that took checkpoints; nothing where none did.
pub(crate) fn text<'r>(variants: impl Iterator<Item = (&'r str, &'r [RunResult])>) -> String {
    let rows: Vec<Vec<String>> = variants.filter_map(|(name, runs)| row(name, runs)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = [
        "variant",
        "checkpoints (aborted)",
        "ms until durable p50",
        "p99",
        "sync ms p50",
        "p99",
        "alignment ms p99",
        "upload ms p50",
        "publish ms p50",
        "MiB each",
    ];
    format!("{}\n\n", table(&header, &rows))
}

fn row(name: &str, runs: &[RunResult]) -> Option<Vec<String>> {
    let all: Vec<&EpochFigures> = runs.iter().flat_map(|run| &run.checkpoints).collect();
    if all.is_empty() {
        return None;
    }
    let millis = |percent, of: &dyn Fn(&EpochFigures) -> Option<u64>| {
        let values: Vec<f64> = all.iter().filter_map(|it| of(it)).map(|value_ns| value_ns as f64 / 1e6).collect();
        format!("{:.2}", percentile(&values, percent))
    };
    let bytes = all.iter().map(|it| it.bytes as f64).sum::<f64>() / all.len() as f64;
    Some(vec![
        name.to_owned(),
        format!("{} ({})", all.len(), all.iter().filter(|it| it.duration_ns.is_none()).count()),
        millis(50, &|it| it.duration_ns),
        millis(99, &|it| it.duration_ns),
        millis(50, &|it| Some(it.sync_ns)),
        millis(99, &|it| Some(it.sync_ns)),
        millis(99, &|it| Some(it.alignment_ns)),
        millis(50, &|it| Some(it.upload_ns)),
        millis(50, &|it| it.publish_ns),
        super::mib(bytes),
    ])
}
