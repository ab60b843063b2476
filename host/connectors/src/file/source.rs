//! The file source: each file is a split.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::PathBuf;

use contract::{Polled, Source, SourceReader, Split, SplitAssignment};
use model::job::{CsvSpec, FormatSpec};
use model::{Position, SourceId, SplitIndex};

use super::error::Error;
use super::lines::{LineRules, Passed, Rule};
use super::options::FileSourceOptions;
use super::split::{FileSplit, Most};
use super::{listing, resume};
use crate::arena::ArenaPool;

/// Bytes read at once: enough that the cost of a system call vanishes, few enough to stay in the cache.
const ARENA_BYTES: usize = 256 * 1024;

/// Lines of a file, or of the files of a directory.
#[derive(Debug)]
pub struct FileSource {
    options: FileSourceOptions,
    files: Vec<String>,
    columns: Vec<String>,
}

impl FileSource {
    /// Finds the files, and reads the header lines where they are CSV.
    ///
    /// # Errors
    /// When the path cannot be read, holds no file, or header lines differ.
    pub fn new(options: FileSourceOptions) -> Result<Self, contract::Error> {
        let files = listing::list(&options)?;
        let columns = match options.csv() {
            Some(csv) => listing::columns(&options, csv, &files)?,
            None => Vec::new(),
        };
        Ok(Self { options, files, columns })
    }

    /// The columns of CSV files, in order; empty for other formats.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Checks files that were not there when the source was made.
    fn check_new(&self, splits: &[SplitAssignment]) -> Result<(), Error> {
        let known: HashSet<&String> = self.files.iter().collect();
        let names = splits.iter().map(|assigned| &assigned.split.name);
        let new: Vec<String> = names.filter(|name| !known.contains(name)).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        let there: HashSet<String> = listing::list(&self.options)?.into_iter().collect();
        if let Some(unknown) = new.iter().find(|name| !there.contains(*name)) {
            return Err(Error::UnknownSplit { split: unknown.clone(), path: self.options.path.clone() });
        }
        if let Some(csv) = self.options.csv() {
            let csv = CsvSpec { columns: self.columns.clone(), ..csv.clone() };
            listing::columns(&self.options, &csv, &new)?;
        }
        Ok(())
    }

    fn rules(&self) -> LineRules {
        let csv = self.options.csv();
        LineRules {
            rule: csv.map_or(Rule::Line, |csv| Rule::Csv { delimiter: csv.delimiter }),
            skips_empty: self.options.format != FormatSpec::Raw,
            has_header: csv.is_some_and(|csv| csv.header),
            max_record_bytes: usize::try_from(self.options.max_record_bytes).unwrap_or(usize::MAX / 4),
        }
    }
}

impl Source for FileSource {
    fn splits(&self) -> Result<Vec<Split>, contract::Error> {
        let files = listing::list(&self.options)?;
        let splits = (0..).zip(files);
        Ok(splits.map(|(index, name)| Split { index: SplitIndex(index), name }).collect())
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, contract::Error> {
        self.check_new(&splits)?;
        let mut reader = FileReader {
            options: self.options.clone(),
            rules: self.rules(),
            id,
            waiting: VecDeque::with_capacity(splits.len()),
            current: None,
            done: Vec::new(),
            known: BTreeMap::new(),
            passed: Passed::default(),
            pool: ArenaPool::new(ARENA_BYTES),
        };
        for assignment in splits {
            reader.admit(assignment)?;
        }
        reader.open_next()?;
        Ok(Box::new(reader))
    }
}

/// What is known of a file, in whatever phase.
struct Known {
    identity: Vec<u8>,
    has_ended: bool,
}

/// Reads files one after the other.
struct FileReader {
    options: FileSourceOptions,
    rules: LineRules,
    id: SourceId,
    waiting: VecDeque<SplitAssignment>,
    current: Option<FileSplit>,
    done: Vec<(SplitIndex, Position)>,
    /// Of all of them.
    known: BTreeMap<SplitIndex, Known>,
    /// Of the files that are done.
    passed: Passed,
    pool: ArenaPool,
}

impl FileReader {
    /// Takes a file, which waits unless it was read to its end before.
    fn admit(&mut self, assignment: SplitAssignment) -> Result<(), Error> {
        let SplitAssignment { split, position, identity } = &assignment;
        let position = position.unwrap_or_default();
        let identity = resume::identify(&split.name, identity)?;
        let mut has_ended = false;
        if position.0 > 0 {
            let input = listing::open(&self.options, &split.name)?;
            let cannot_open = |source| Error::Open { path: PathBuf::from(&split.name), source };
            let end = input.file().metadata().map_err(cannot_open)?.len();
            if input.is_plain() && position.0 > end {
                return Err(Error::PositionGone { split: split.name.clone(), position: position.0, end });
            }
            has_ended = input.is_plain() && position.0 == end;
        }
        self.known.insert(split.index, Known { identity, has_ended });
        if has_ended {
            self.done.push((split.index, position));
        } else {
            self.waiting.push_back(assignment);
        }
        Ok(())
    }

    /// `false` when there is no other file.
    fn open_next(&mut self) -> Result<bool, Error> {
        let Some(next) = self.waiting.front() else { return Ok(false) };
        let position = next.position.map_or(0, |position| position.0);
        let (options, rules) = (&self.options, self.rules.clone());
        let opened = FileSplit::open(options, rules, self.id, next.split.index, &next.split.name, position)?;
        self.waiting.pop_front();
        self.current = Some(opened);
        Ok(true)
    }

    fn close_current(&mut self) {
        if let Some(split) = self.current.take() {
            self.passed = self.passed + split.passed();
            self.done.push((split.index(), split.position()));
            if let Some(known) = self.known.get_mut(&split.index()) {
                known.has_ended = true;
            }
        }
    }
}

impl SourceReader for FileReader {
    fn poll(&mut self, max_rows: usize, max_bytes: usize) -> Result<Polled, contract::Error> {
        let most = Most { rows: max_rows.max(1), bytes: max_bytes };
        loop {
            if let Some(split) = &mut self.current {
                if let Some(polled) = split.poll(&mut self.pool, most)? {
                    return Ok(polled);
                }
                self.close_current();
            }
            if !self.open_next()? {
                return Ok(Polled::End);
            }
        }
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        let current = self.current.iter().map(|split| (split.index(), split.position()));
        let waiting = self.waiting.iter().map(|next| (next.split.index, next.position.unwrap_or_default()));
        self.done.iter().copied().chain(current).chain(waiting).collect()
    }

    fn identity(&self, split: SplitIndex) -> Result<Vec<u8>, contract::Error> {
        Ok(self.known.get(&split).map(|known| known.identity.clone()).unwrap_or_default())
    }

    fn has_ended(&self, split: SplitIndex) -> bool {
        self.known.get(&split).is_some_and(|known| known.has_ended)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let passed = self.current.iter().fold(self.passed, |passed, split| passed + split.passed());
        vec![("empty-lines", passed.empty_lines), ("byte-order-marks", passed.byte_order_marks)]
    }
}
