//! Sinks of the job file.

use std::sync::Arc;

use connectors::blackhole::BlackholeSink;
use connectors::file::{FileLayout, FileSink, FileSinkOptions, StagedFileSink, StagedFileSinkOptions};
use connectors::stdout::StdoutSink;
use contract::{Delivery, Sink};
use model::LineageId;
use model::job::{FormatSpec, JobSpec, SinkConnector, SinkSpec};
use runtime::SinkNode;

use super::format;

/// The node of a sink that writes values of the format `writes`; in a rewind it takes the place of another lineage.
pub(super) fn node(spec: &JobSpec, sink: &SinkSpec, writes: &FormatSpec, takes_over: Option<LineageId>) -> SinkNode {
    SinkNode {
        uid: sink.uid.clone(),
        inputs: sink.from.clone(),
        sink: connector(spec, sink.uid.as_str(), &sink.connector, writes, takes_over),
        format: format(writes, &[]),
        parallelism: sink.parallelism,
    }
}

/// The dead letters are JSON documents, wherever they go.
pub(super) fn dead_letters(spec: &JobSpec, wanted: &SinkConnector, takes_over: Option<LineageId>) -> Arc<dyn Sink> {
    connector(spec, "dead-letters", wanted, &FormatSpec::Json, takes_over)
}

fn connector(
    spec: &JobSpec,
    uid: &str,
    wanted: &SinkConnector,
    format: &FormatSpec,
    takes_over: Option<LineageId>,
) -> Arc<dyn Sink> {
    match wanted {
        SinkConnector::File(file) if file.delivery == Delivery::ExactlyOnce => {
            Arc::new(StagedFileSink::new(StagedFileSinkOptions {
                path: spec.resolve(&file.path),
                layout: match file.layout {
                    model::job::FileLayout::Plain => FileLayout::Plain,
                    model::job::FileLayout::Commits => FileLayout::Commits,
                },
                compression: file.compression,
                format: format.clone(),
                roll_bytes: file.roll_bytes,
                owner: format!("job `{}`, sink `{uid}`", spec.name),
                takes_over,
            }))
        }
        SinkConnector::File(file) => {
            let options = FileSinkOptions::from_spec(file, format, spec.resolve(&file.path));
            Arc::new(FileSink::new(options))
        }
        SinkConnector::Stdout => Arc::new(StdoutSink::new(format)),
        SinkConnector::Blackhole => Arc::new(BlackholeSink::new()),
    }
}

/// Whether records of the job go to standard output.
pub(super) fn writes_stdout(spec: &JobSpec) -> bool {
    targets(spec).any(|connector| *connector == SinkConnector::Stdout)
}

/// Whether records of the job go nowhere else, as far as anybody could look for them.
pub(super) fn writes_only_stdout(spec: &JobSpec) -> bool {
    targets(spec).all(|connector| matches!(connector, SinkConnector::Stdout | SinkConnector::Blackhole))
}

fn targets(spec: &JobSpec) -> impl Iterator<Item = &SinkConnector> {
    spec.sinks.iter().map(|sink| &sink.connector).chain(&spec.dead_letters)
}
