//! The file source: each file is a split.

use std::collections::VecDeque;

use contract::{Polled, Source, SourceReader, Split, SplitAssignment};
use model::job::FormatSpec;
use model::{Position, SourceId, SplitIndex};

use super::error::Error;
use super::lines::{LineRules, Passed, Rule};
use super::listing;
use super::options::FileSourceOptions;
use super::split::{FileSplit, Most};
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
        let splits = (0..).zip(&self.files);
        Ok(splits.map(|(index, name)| Split { index: SplitIndex(index), name: name.clone() }).collect())
    }

    fn open(&self, id: SourceId, splits: Vec<SplitAssignment>) -> Result<Box<dyn SourceReader>, contract::Error> {
        let is_ours = |split: &Split| self.files.get(split.index.0 as usize) == Some(&split.name);
        if let Some(unknown) = splits.iter().find(|assigned| !is_ours(&assigned.split)) {
            let path = self.options.path.clone();
            return Err(Error::UnknownSplit { split: unknown.split.name.clone(), path }.into());
        }
        let mut reader = FileReader {
            options: self.options.clone(),
            rules: self.rules(),
            id,
            waiting: splits.into(),
            current: None,
            done: Vec::new(),
            passed: Passed::default(),
            pool: ArenaPool::new(ARENA_BYTES),
        };
        reader.open_next()?;
        Ok(Box::new(reader))
    }
}

/// Reads files one after the other.
struct FileReader {
    options: FileSourceOptions,
    rules: LineRules,
    id: SourceId,
    waiting: VecDeque<SplitAssignment>,
    current: Option<FileSplit>,
    done: Vec<(SplitIndex, Position)>,
    /// Of the files that are done.
    passed: Passed,
    pool: ArenaPool,
}

impl FileReader {
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

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let passed = self.current.iter().fold(self.passed, |passed, split| passed + split.passed());
        vec![("empty-lines", passed.empty_lines), ("byte-order-marks", passed.byte_order_marks)]
    }
}
