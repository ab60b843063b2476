//! Sources of the job file, and the one that `tidegate test` reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use connectors::file::{FileSource, FileSourceOptions};
use connectors::generator::{GeneratorOptions, GeneratorSource};
use contract::{Source, SourceReader, Split, SplitAssignment};
use model::job::{
    CsvSpec, FileSourceSpec, FormatSpec, JobSpec, OnError, SourceCompression, SourceConnector, SourceSpec,
    WatermarkSpec,
};
use model::{OperatorUid, Parallelism, SourceId};
use runtime::{EventTimeCut, SourceNode, SystemClock, Watermarks};

use super::format;
use crate::args::TestFormat;
use crate::report::CliError;

/// The node of a source.
pub(super) fn node(spec: &JobSpec, source: &SourceSpec) -> Result<SourceNode, CliError> {
    let parallelism = source.parallelism;
    let (connector, columns): (Arc<dyn Source>, Vec<String>) = match &source.connector {
        SourceConnector::File(file) => {
            let options = FileSourceOptions::from_spec(file, &source.format, spec.resolve(&file.path));
            let files = FileSource::new(options)?;
            let columns = files.columns().to_vec();
            (Arc::new(NamedFrom::new(spec.directory(), files)), columns)
        }
        SourceConnector::Generator(generator) => {
            let options = GeneratorOptions { spec: generator.clone(), parallelism };
            (Arc::new(GeneratorSource::new(options, Arc::new(SystemClock::new()))), Vec::new())
        }
    };
    Ok(SourceNode {
        uid: source.uid.clone(),
        source: connector,
        format: format(&source.format, &columns),
        event_time: source.event_time.as_ref().map(|time| EventTimeCut { path: time.field.clone(), unit: time.unit }),
        watermark: watermarks(source.watermark),
        on_error: source.on_error,
        parallelism,
    })
}

/// Without the word of the job file no record is ever late, and so nothing is purged by event time.
fn watermarks(spec: Option<WatermarkSpec>) -> Watermarks {
    const NEVER_LATE: Watermarks = Watermarks { max_out_of_orderness: Duration::MAX, max_ahead: None };
    spec.map_or(NEVER_LATE, |spec| Watermarks {
        max_out_of_orderness: spec.max_out_of_orderness,
        max_ahead: Some(spec.max_ahead),
    })
}

/// A file source whose splits are named from the directory of the job file: a position is found again however
/// the job file or the path of the source was spelled, and after the directory was moved as a whole. What lies
/// elsewhere is named by its whole path.
struct NamedFrom {
    /// Without links.
    directory: PathBuf,
    files: FileSource,
}

impl NamedFrom {
    fn new(directory: &Path, files: FileSource) -> Self {
        Self { directory: without_links(directory).unwrap_or_else(|| directory.to_owned()), files }
    }

    fn name(&self, path: String) -> String {
        let file = Path::new(&path);
        // A file may be a link that leads to another one tomorrow: its own name is what it is known by.
        let place = file.parent().and_then(without_links).zip(file.file_name());
        let Some(place) = place.map(|(folder, name)| folder.join(name)) else { return path };
        let named = place.strip_prefix(&self.directory).unwrap_or(&place);
        named.to_str().map(str::to_owned).unwrap_or(path)
    }
}

/// The one path of a folder that is there.
fn without_links(folder: &Path) -> Option<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::canonicalize(folder).ok()
}

impl Source for NamedFrom {
    fn splits(&self) -> Result<Vec<Split>, contract::Error> {
        let splits = self.files.splits()?.into_iter();
        Ok(splits.map(|split| Split { name: self.name(split.name), ..split }).collect())
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, contract::Error> {
        let paths = self.files.splits()?;
        let splits = splits.into_iter().map(|mut assigned| {
            // The name that the source itself gives: it judges what it does not know.
            if let Some(path) = paths.iter().find(|path| path.index == assigned.split.index)
                && self.name(path.name.clone()) == assigned.split.name
            {
                assigned.split.name.clone_from(&path.name);
            }
            assigned
        });
        self.files.open(id, splits.collect())
    }
}

/// Whether a source never comes to its end.
pub(super) fn is_endless(source: &SourceSpec) -> bool {
    match &source.connector {
        SourceConnector::File(_) => false,
        SourceConnector::Generator(generator) => generator.records.is_none(),
    }
}

/// A source that reads one file, for `tidegate test`.
pub(crate) fn test_source(
    uid: OperatorUid,
    path: &Path,
    read_as: TestFormat,
    event_time: Option<EventTimeCut>,
) -> Result<SourceNode, CliError> {
    /// Longer than any record a person would put into a test.
    const MAX_RECORD_BYTES: u64 = 16 << 20;
    let spec = match read_as {
        TestFormat::Json => FormatSpec::Json,
        TestFormat::Raw => FormatSpec::Raw,
        TestFormat::Csv => FormatSpec::Csv(CsvSpec { delimiter: b',', columns: Vec::new(), header: true }),
    };
    let file = FileSourceSpec {
        path: path.to_owned(),
        include: Vec::new(),
        compression: SourceCompression::Auto,
        max_record_bytes: MAX_RECORD_BYTES,
    };
    let source = FileSource::new(FileSourceOptions::from_spec(&file, &spec, path.to_owned()))?;
    let columns = source.columns().to_vec();
    Ok(SourceNode {
        uid,
        source: Arc::new(source),
        format: format(&spec, &columns),
        event_time,
        // How far the records of a test are out of order is not said: timers of event time fire at its end.
        watermark: watermarks(None),
        on_error: OnError::DeadLetter,
        parallelism: Parallelism(1),
    })
}
