//! Sinks of the job file.

use std::sync::Arc;

use connectors::blackhole::BlackholeSink;
use connectors::file::{FileSink, FileSinkOptions};
use connectors::stdout::StdoutSink;
use contract::Sink;
use model::job::{FormatSpec, JobSpec, SinkConnector, SinkSpec};
use runtime::SinkNode;

use super::format;

/// The node of a sink that writes values of the format `writes`.
pub(super) fn node(spec: &JobSpec, sink: &SinkSpec, writes: &FormatSpec) -> SinkNode {
    SinkNode {
        uid: sink.uid.clone(),
        inputs: sink.from.clone(),
        sink: connector(spec, &sink.connector, writes),
        format: format(writes, &[]),
        parallelism: sink.parallelism,
    }
}

/// The dead letters are JSON documents, wherever they go.
pub(super) fn dead_letters(spec: &JobSpec, wanted: &SinkConnector) -> Arc<dyn Sink> {
    connector(spec, wanted, &FormatSpec::Json)
}

fn connector(spec: &JobSpec, wanted: &SinkConnector, format: &FormatSpec) -> Arc<dyn Sink> {
    match wanted {
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
