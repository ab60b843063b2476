//! The `sinks` and the `dead_letters` of a job file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Component, Path, PathBuf};

use crate::{Delivery, Parallelism};

use super::check::{At, Check, Keys};
use super::codes;
use super::durability::refuse_without_checkpoint;
use super::file::{Defaults, read_connector, read_parallelism, read_path, read_uid};
use super::graph::{Graph, OperatorKind, read_refs};
use super::sources::{End, read_format};
use super::spec::{FileLayout, FileSinkSpec, SinkCompression, SinkConnector, SinkSpec};
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
        let connector = read_sink_connector(check, &mut keys, defaults);
        // Others write on in a file that is there, or have no files.
        let writes_header =
            matches!(&connector, Some(SinkConnector::File(file)) if file.delivery == Delivery::ExactlyOnce);
        let format = keys.take(check, "format").map(|at| read_format(check, &at, End::Sink { writes_header }));
        let parallelism = read_parallelism(check, &mut keys, defaults.parallelism);
        keys.finish(check);
        if let Some(SinkConnector::File(file)) = &connector
            && file.delivery != Delivery::ExactlyOnce
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

pub(super) fn read_dead_letters(check: &mut Check, at: &At<'_>, defaults: Defaults) -> Option<SinkConnector> {
    let mut keys = check.keys(at)?;
    let connector = read_sink_connector(check, &mut keys, defaults);
    keys.finish(check);
    connector
}

fn read_sink_connector(check: &mut Check, keys: &mut Keys<'_>, defaults: Defaults) -> Option<SinkConnector> {
    let not_yet = ["kafka", "postgres", "http"];
    let (name, at) = read_connector(check, keys, &["file", "stdout", "blackhole"], &not_yet)?;
    let mut options = check.keys(&at)?;
    let connector = match name {
        "file" => read_file(check, &mut options, defaults).map(SinkConnector::File),
        "stdout" => Some(SinkConnector::Stdout),
        _ => Some(SinkConnector::Blackhole),
    };
    options.finish(check);
    connector
}

fn read_file(check: &mut Check, keys: &mut Keys<'_>, defaults: Defaults) -> Option<FileSinkSpec> {
    let path_at = keys.require(check, "path", "a directory, or one file such as `out.jsonl`");
    let path = path_at.as_ref().and_then(|at| read_path(check, at));
    let compressions = [("none", SinkCompression::None), ("gzip", SinkCompression::Gzip)];
    let compression = keys.take(check, "compression").and_then(|at| check.choice(&at, &compressions));
    let overwrite_at = keys.take(check, "overwrite");
    let overwrite = overwrite_at.as_ref().and_then(|at| check.boolean(at)).unwrap_or(false);
    let delivery = read_delivery(check, keys, defaults);
    let (layout, roll_bytes) = read_layout(check, keys, delivery);
    if let (Delivery::ExactlyOnce, true, Some(at)) = (delivery, overwrite, &overwrite_at) {
        let message = "an exactly-once sink replaces nothing that it has published: expected no `overwrite: true`";
        let help = Some("remove `overwrite`, or say `delivery: at-least-once`".to_owned());
        check.problem_with_help(codes::WRONG_VALUE, at, message.to_owned(), help);
    }
    let path = path?;
    if let (Delivery::ExactlyOnce, true, Some(at)) = (delivery, FileSinkSpec::is_one_file(&path), &path_at) {
        refuse_one_file(check, at, &path);
    }
    let compression = compression.unwrap_or(SinkCompression::None);
    Some(FileSinkSpec { path, compression, overwrite, delivery, layout, roll_bytes })
}

/// What a sink promises: exactly once where the job has checkpoints and nothing else is said.
fn read_delivery(check: &mut Check, keys: &mut Keys<'_>, defaults: Defaults) -> Delivery {
    let default = if defaults.has_checkpoints { Delivery::ExactlyOnce } else { Delivery::AtLeastOnce };
    let Some(at) = keys.take(check, "delivery") else { return default };
    let words = [("exactly-once", Delivery::ExactlyOnce), ("at-least-once", Delivery::AtLeastOnce)];
    let Some(delivery) = check.choice(&at, &words) else { return default };
    if !defaults.has_checkpoints {
        refuse_without_checkpoint(check, &at, "what `delivery` promises is kept with checkpoints");
        return default;
    }
    delivery
}

/// A file of this size is read in one go by most programs, and a thousand of them are a lot of data.
const DEFAULT_ROLL_BYTES: u64 = 128 * 1024 * 1024;

/// How an exactly-once sink lays out what it publishes; others have no choice.
fn read_layout(check: &mut Check, keys: &mut Keys<'_>, delivery: Delivery) -> (FileLayout, u64) {
    const KIB: u64 = 1024;
    let layout_at = keys.take(check, "layout");
    let layouts = [("plain", FileLayout::Plain), ("commits", FileLayout::Commits)];
    let layout = layout_at.as_ref().and_then(|at| check.choice(at, &layouts));
    let roll_at = keys.take(check, "roll_bytes");
    let sizes = 64 * KIB..=64 * KIB * KIB * KIB;
    let roll_bytes = roll_at.as_ref().and_then(|at| check.size_bytes(at, sizes));
    if delivery != Delivery::ExactlyOnce {
        for at in layout_at.iter().chain(&roll_at) {
            refuse_without_exactly_once(check, at);
        }
    }
    (layout.unwrap_or(FileLayout::Plain), roll_bytes.unwrap_or(DEFAULT_ROLL_BYTES))
}

fn refuse_without_exactly_once(check: &mut Check, at: &At<'_>) {
    let key = at.path.rsplit('.').next().unwrap_or_default();
    let message = format!("`{key}` says how an exactly-once sink writes, and this one is not");
    let help = "add `checkpoint: {}` to the job and leave out `delivery`, or remove this key".to_owned();
    check.problem_with_help(codes::NEEDS_CHECKPOINT, at, message, Some(help));
}

/// One file cannot be published in pieces: what is added to it is visible, and half of it is too.
fn refuse_one_file(check: &mut Check, at: &At<'_>, path: &Path) {
    let message = format!(
        "`{}` names one file: expected a directory, because an exactly-once sink publishes whole files, some with each checkpoint",
        shorten(&path.to_string_lossy())
    );
    let directory = path.with_extension("");
    let help = format!(
        "give a directory such as `{}/`, or say `delivery: at-least-once`",
        shorten(&directory.to_string_lossy())
    );
    check.problem_with_help(codes::NEEDS_DIRECTORY, at, message, Some(help));
}
