//! What a job writes must not be what it reads.
//!
//! Two names may lead to one file, so files are compared by what the file system calls them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::job::{JobSpec, SinkConnector, SourceConnector};
use runtime::SourceNode;

use crate::report::CliError;

/// What the file system calls a file: device and number.
type FileId = (u64, u64);

fn file_id(path: &Path) -> Option<FileId> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Refuses a job one of whose sinks would write over a file that the job reads, or into a folder it reads.
///
/// # Errors
/// Names the sink and the file.
pub(super) fn check(spec: &JobSpec, sources: &[SourceNode]) -> Result<(), CliError> {
    let read = files_read(spec, sources)?;
    let sinks = spec.sinks.iter().map(|sink| (format!("sink `{}`", sink.uid), &sink.connector));
    let dead_letters = spec.dead_letters.iter().map(|connector| ("dead_letters".to_owned(), connector));
    for (who, connector) in sinks.chain(dead_letters) {
        let SinkConnector::File(file) = connector else { continue };
        for target in targets(&spec.resolve(&file.path)) {
            if let Some(reader) = file_id(&target).and_then(|id| read.get(&id)) {
                return Err(CliError::failed(format!(
                    "{who} would write over `{}`, which is {reader}",
                    target.display()
                ))
                .with_help("give the sink a path of its own"));
            }
        }
    }
    Ok(())
}

/// Every file and folder the job reads, with what it is.
fn files_read(spec: &JobSpec, sources: &[SourceNode]) -> Result<BTreeMap<FileId, String>, CliError> {
    let mut read = BTreeMap::new();
    let mut note = |path: &Path, what: String| {
        if let Some(id) = file_id(path) {
            read.insert(id, what);
        }
    };
    note(Path::new(spec.file_name()), "the job file".to_owned());
    for function in &spec.functions {
        note(&spec.resolve(&function.module), format!("the module of `{}`", function.uid));
    }
    for (source, node) in spec.sources.iter().zip(sources) {
        if let SourceConnector::File(file) = &source.connector {
            note(&spec.resolve(&file.path), format!("read by source `{}`", source.uid));
            for split in node.source.splits()? {
                note(&spec.directory().join(&split.name), format!("read by source `{}`", source.uid));
            }
        }
    }
    Ok(read)
}

/// The sink's path, and the files in it where it is a folder.
fn targets(path: &Path) -> Vec<PathBuf> {
    let mut targets = vec![path.to_owned()];
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    targets.extend(inside.map(|entry| entry.path()));
    targets
}
