//! Publishes epochs, by the layout's means.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use contract::{Publisher, StagedOutput};
use model::{Epoch, Generation, LineageId};

use super::disk::{self, Disk};
use super::error::Error;
use super::formats::StagedFile;
use super::owner::{self, hidden};
use super::writer::generation_of;
use super::{FileLayout, StagedFileSinkOptions, commits, plain};

/// The directory of the data of all lineages, in the layout of commits.
pub(super) const DATA: &str = "data";

/// Where a lineage stages.
pub(super) fn staged_directory(directory: &Path, layout: FileLayout, lineage: LineageId) -> PathBuf {
    let lineage = lineage.to_string();
    match layout {
        FileLayout::Commits => directory.join(DATA).join(lineage),
        FileLayout::Plain => hidden(directory).join(lineage).join("staged"),
    }
}

/// Where a lineage keeps its ledger.
pub(super) fn ledger_directory(directory: &Path, layout: FileLayout, lineage: LineageId) -> PathBuf {
    match layout {
        FileLayout::Commits => commits::directory(directory, lineage),
        FileLayout::Plain => plain::directory(directory, lineage),
    }
}

/// Publishes one lineage.
pub(super) struct FilePublisher {
    pub(super) options: StagedFileSinkOptions,
    pub(super) disk: Disk,
    pub(super) lineage: LineageId,
}

/// What is to be published, and where it lies.
pub(super) struct ToPublish<'o> {
    pub(super) output: &'o StagedOutput,
    pub(super) file: StagedFile,
    pub(super) path: PathBuf,
}

impl FilePublisher {
    pub(super) fn ledger(&self) -> PathBuf {
        ledger_directory(&self.options.path, self.options.layout, self.lineage)
    }

    fn last(&self) -> Result<Option<Epoch>, Error> {
        match self.options.layout {
            FileLayout::Commits => commits::last(&self.ledger()),
            FileLayout::Plain => plain::last(&self.ledger()),
        }
    }

    fn to_publish<'o>(&self, staged: &'o [StagedOutput]) -> Result<Vec<ToPublish<'o>>, Error> {
        let directory = &self.options.path;
        let look = |output| {
            let file = StagedFile::of(output, directory)?;
            let (expected, found) = (self.options.layout, file.layout);
            if expected != found {
                return Err(Error::OtherLayout { path: directory.clone(), expected, found });
            }
            if file.lineage.0 != self.lineage {
                let why = format!("`{}` was staged by lineage {}, which publishes it", file.name, file.lineage.0);
                return Err(Error::StagedUnreadable { path: directory.clone(), why });
            }
            let path = staged_directory(directory, file.layout, self.lineage).join(&file.name);
            Ok(ToPublish { output, file, path })
        };
        staged.iter().map(look).collect()
    }

    fn publish_epoch(&self, epoch: Epoch, staged: &[StagedOutput]) -> Result<(), Error> {
        if staged.is_empty() {
            return Ok(());
        }
        let _held = owner::hold_open(&self.options, self.lineage)?;
        let files = self.to_publish(staged)?;
        match self.options.layout {
            FileLayout::Commits => commits::publish(self, epoch, &files),
            FileLayout::Plain => plain::publish(self, epoch, &files),
        }
    }

    fn discard(&self, listed: &[StagedOutput], generation: Generation) -> Result<u64, Error> {
        let directory = &self.options.path;
        let _held = owner::hold_open(&self.options, self.lineage)?;
        let mut kept = BTreeSet::new();
        for output in listed {
            let file = StagedFile::of(output, directory)?;
            kept.insert(staged_directory(directory, file.layout, file.lineage.0).join(&file.name));
        }
        let lineages = match self.options.layout {
            FileLayout::Commits => directory.join(DATA),
            FileLayout::Plain => hidden(directory),
        };
        let mut removed = self.remove_unfinished(&hidden(directory))?;
        for lineage in disk::names(&lineages)?.iter().filter_map(|name| LineageId::parse(name)) {
            removed += self.remove_unfinished(&ledger_directory(directory, self.options.layout, lineage))?;
            if self.options.layout == FileLayout::Commits {
                kept.extend(commits::listed(directory, lineage)?);
            }
            removed += self.remove_others(lineage, &kept, generation)?;
        }
        Ok(removed)
    }

    /// Removes what generations before `generation` staged and is not kept. A lineage that is not ours is closed:
    /// nobody stages in it.
    fn remove_others(
        &self,
        lineage: LineageId,
        kept: &BTreeSet<PathBuf>,
        generation: Generation,
    ) -> Result<u64, Error> {
        let staged = staged_directory(&self.options.path, self.options.layout, lineage);
        let mut removed = 0;
        for name in disk::names(&staged)? {
            let path = staged.join(&name);
            let is_older = |of| of < generation.0 || lineage != self.lineage;
            if generation_of(&name).is_some_and(is_older) && !kept.contains(&path) {
                removed += u64::from(self.disk.remove(&path)?);
            }
        }
        Ok(removed)
    }

    fn remove_unfinished(&self, directory: &Path) -> Result<u64, Error> {
        let mut removed = 0;
        for name in disk::names(directory)? {
            if name.starts_with('.') && name.ends_with(disk::UNFINISHED) {
                removed += u64::from(self.disk.remove(&directory.join(name))?);
            }
        }
        Ok(removed)
    }
}

impl Publisher for FilePublisher {
    fn publish(&mut self, epoch: Epoch, staged: &[StagedOutput]) -> Result<(), contract::Error> {
        Ok(self.publish_epoch(epoch, staged)?)
    }

    fn last_published(&mut self) -> Result<Option<Epoch>, contract::Error> {
        owner::check_open(&self.options, self.lineage)?;
        Ok(self.last()?)
    }

    fn discard_orphans(&mut self, listed: &[StagedOutput], generation: Generation) -> Result<u64, contract::Error> {
        Ok(self.discard(listed, generation)?)
    }
}

/// Checks that a file lies where it was staged, as long as it was.
pub(super) fn check_staged(epoch: Epoch, file: &ToPublish<'_>) -> Result<(), Error> {
    let expected_bytes = file.output.bytes;
    let found = match disk::length_bytes(&file.path)? {
        Some(bytes) if bytes == expected_bytes => return Ok(()),
        Some(bytes) => format!("has {bytes} bytes"),
        None => "is gone".to_owned(),
    };
    Err(Error::StagedGone { epoch, path: file.path.clone(), found, expected_bytes })
}
