//! The `sinks` and the `dead_letters` of a job file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Component, Path, PathBuf};

use crate::Parallelism;

use super::check::{At, Check, Keys};
use super::codes;
use super::file::{Defaults, read_connector, read_parallelism, read_path, read_uid};
use super::graph::{Graph, OperatorKind, read_refs};
use super::sources::{End, read_format};
use super::spec::{FileSinkSpec, FormatSpec, SinkCompression, SinkConnector, SinkSpec};
use super::tree::shorten;

pub(super) fn read(check: &mut Check, graph: &mut Graph, at: &At<'_>, defaults: Defaults) -> Vec<SinkSpec> {
    let entries = check.entries(at);
    if entries.is_empty() {
        check.problem(codes::MISSING, at, "expected at least one sink: found none");
    }
    let mut sinks = Vec::new();
    for (name, at) in entries {
        graph.add(name, OperatorKind::Sink, &at);
        let uid = read_uid(check, &at, name);
        let Some(mut keys) = check.keys(&at) else { continue };
        let input = keys.require(check, "input", "the name of a source or a function, or a list of them");
        let from = input.map(|at| read_refs(check, graph, &at, name)).unwrap_or_default();
        let connector = read_sink_connector(check, &mut keys);
        let format = keys.take(check, "format").map_or(FormatSpec::Json, |at| read_format(check, &at, End::Sink));
        let parallelism = read_parallelism(check, &mut keys, defaults.parallelism);
        keys.finish(check);
        if let Some(SinkConnector::File(file)) = &connector
            && FileSinkSpec::is_one_file(&file.path)
            && parallelism.0 > 1
        {
            refuse_many_writers(check, &at, parallelism);
        }
        if let (Some(uid), Some(connector)) = (uid, connector) {
            sinks.push(SinkSpec { uid, from, connector, format, parallelism });
        }
    }
    sinks
}

/// Subtasks cannot share a file.
fn refuse_many_writers(check: &mut Check, sink: &At<'_>, parallelism: Parallelism) {
    let (path, span) = check.places.find(&format!("{}.file.path", sink.path));
    let message = format!("one file cannot be written by {parallelism} subtasks: expected a directory");
    let help = "give a directory, or `parallelism: 1` for this sink".to_owned();
    check.problems.add_with_help(codes::WRONG_VALUE, &path, span, message, Some(help));
}

/// Sinks and dead letters that write to one path would destroy each other's files. Links are not
/// followed: what they hide is refused when the sinks are opened.
pub(super) fn check_targets(check: &mut Check, sinks: &[SinkSpec], dead_letters: Option<&SinkConnector>) {
    let directory = Path::new(check.places.file_name()).parent().unwrap_or(Path::new("")).to_owned();
    let of_sinks = sinks.iter().map(|sink| (format!("sinks.{}", sink.uid), &sink.connector));
    let of_dead_letters = dead_letters.map(|connector| ("dead_letters".to_owned(), connector));
    let mut writers: BTreeMap<PathBuf, String> = BTreeMap::new();
    for (writer, connector) in of_sinks.chain(of_dead_letters) {
        let SinkConnector::File(file) = connector else { continue };
        match writers.entry(plain(&directory.join(&file.path))) {
            Entry::Vacant(free) => {
                free.insert(writer);
            }
            Entry::Occupied(first) => {
                let (path, span) = check.places.find(&format!("{writer}.file.path"));
                let message = format!(
                    "`{}` is written by `{}` already: each would destroy the files of the other",
                    shorten(&file.path.to_string_lossy()),
                    first.get()
                );
                let help = Some("give each a `path` of its own".to_owned());
                check.problems.add_with_help(codes::SAME_TARGET, &path, span, message, help);
            }
        }
    }
}

/// The path without `.`, and without `..` where it goes back on a name.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            Component::ParentDir if plain.has_root() => {}
            other => plain.push(other),
        }
    }
    plain
}

pub(super) fn read_dead_letters(check: &mut Check, at: &At<'_>) -> Option<SinkConnector> {
    let mut keys = check.keys(at)?;
    let connector = read_sink_connector(check, &mut keys);
    keys.finish(check);
    connector
}

fn read_sink_connector(check: &mut Check, keys: &mut Keys<'_>) -> Option<SinkConnector> {
    let not_yet = ["kafka", "postgres", "http"];
    let (name, at) = read_connector(check, keys, &["file", "stdout", "blackhole"], &not_yet)?;
    let mut options = check.keys(&at)?;
    let connector = match name {
        "file" => read_file(check, &mut options).map(SinkConnector::File),
        "stdout" => Some(SinkConnector::Stdout),
        _ => Some(SinkConnector::Blackhole),
    };
    options.finish(check);
    connector
}

fn read_file(check: &mut Check, keys: &mut Keys<'_>) -> Option<FileSinkSpec> {
    let path = keys
        .require(check, "path", "a directory, or one file such as `out.jsonl`")
        .and_then(|at| read_path(check, &at));
    let compressions = [("none", SinkCompression::None), ("gzip", SinkCompression::Gzip)];
    let compression = keys.take(check, "compression").and_then(|at| check.choice(&at, &compressions));
    let overwrite = keys.take(check, "overwrite").and_then(|at| check.boolean(&at));
    keys.not_available(check, "delivery", None);
    Some(FileSinkSpec {
        path: path?,
        compression: compression.unwrap_or(SinkCompression::None),
        overwrite: overwrite.unwrap_or(false),
    })
}
