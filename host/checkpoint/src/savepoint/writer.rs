//! Writes a savepoint.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use contract::StateEntry;
use model::{KeyGroup, OperatorUid, StateId};

use super::entries::{self, BLOCK_BYTES};
use super::metadata::{self, EntriesFile, Metadata};
use super::{Error, METADATA_FILE, PART_SUFFIX, entries_file, unfinished};
use crate::medium::sync_folder;

/// A savepoint that is being written. Dropped before it is finished, it leaves a folder that is no savepoint.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    key_groups: u16,
    files: BTreeMap<OperatorUid, (EntriesFile, BTreeSet<StateId>)>,
}

impl Writer {
    /// Begins a savepoint of a job with so many key groups in `folder`, which is made, is empty, or holds what
    /// is left of one whose writer was killed.
    ///
    /// # Errors
    /// When the folder holds something, or cannot be made.
    pub fn create(folder: &Path, key_groups: u16) -> Result<Self, Error> {
        let made = fs::create_dir(folder);
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                for file in unfinished(folder).ok().flatten().unwrap_or_default() {
                    fs::remove_file(&file)
                        .map_err(Error::io("remove what is left of an unfinished savepoint", &file))?;
                }
                let is_empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
                if !is_empty {
                    return Err(Error::TargetInUse { path: folder.to_owned() });
                }
            }
            made => made.map_err(Error::io("make the folder", folder))?,
        }
        if let Some(parent) = folder.parent().filter(|it| !it.as_os_str().is_empty()) {
            sync_folder(parent).map_err(Error::io("sync", parent))?;
        }
        Ok(Self { folder: folder.to_owned(), key_groups, files: BTreeMap::new() })
    }

    /// Begins the entries of an operator. They count when [`OperatorWriter::finish`] returned.
    ///
    /// # Errors
    /// When the operator was written before, or its file cannot be made.
    pub fn operator(&mut self, operator: &OperatorUid) -> Result<OperatorWriter<'_>, Error> {
        if self.files.contains_key(operator) {
            return Err(Error::Caller { reason: format!("operator `{operator}` is written twice") });
        }
        let name = entries_file(operator);
        let file = Whole::create(&self.folder, &name)?;
        let mut writer = OperatorWriter {
            operator: operator.clone(),
            file,
            entries: EntriesFile { file: name, ..EntriesFile::default() },
            states: BTreeSet::new(),
            hash: Xxh3Default::new(),
            block: Vec::with_capacity(BLOCK_BYTES),
            group: KeyGroup(0),
            savepoint: self,
        };
        writer.put(&entries::head())?;
        Ok(writer)
    }

    /// Writes the metadata: the folder is a savepoint now. Which file holds the entries of an operator is filled in.
    ///
    /// # Errors
    /// When operators were written that the metadata does not have, or the other way round, or states are not
    /// declared; when the file cannot be written.
    pub fn finish(self, mut metadata: Metadata) -> Result<Metadata, Error> {
        let caller = |reason: String| Err(Error::Caller { reason });
        if metadata.key_groups != self.key_groups {
            return caller(format!("begun with {} key groups, the job has {}", self.key_groups, metadata.key_groups));
        }
        if let Some(operator) = self.files.keys().find(|it| !metadata.operators.contains_key(*it)) {
            return caller(format!("the metadata lacks operator `{operator}`"));
        }
        for (operator, described) in &mut metadata.operators {
            let Some((file, states)) = self.files.get(operator) else {
                return caller(format!("operator `{operator}` was not written"));
            };
            let is_declared = |state: &&StateId| described.states.iter().any(|it| it.id == **state);
            if let Some(state) = states.iter().find(|it| !is_declared(it)) {
                return Err(Error::undeclared(operator, *state));
            }
            described.entries = file.clone();
        }
        let mut file = Whole::create(&self.folder, METADATA_FILE)?;
        file.write(metadata::encode(&metadata).as_bytes())?;
        file.finish(&self.folder)?;
        Ok(metadata)
    }
}

/// The entries of one operator, while they are written.
pub struct OperatorWriter<'a> {
    savepoint: &'a mut Writer,
    operator: OperatorUid,
    file: Whole,
    entries: EntriesFile,
    states: BTreeSet<StateId>,
    hash: Xxh3Default,
    block: Vec<u8>,
    group: KeyGroup,
}

impl OperatorWriter<'_> {
    /// Adds an entry. Key groups rise.
    ///
    /// # Errors
    /// When its key group is below that of the entry before; when the file cannot be written.
    pub fn write(&mut self, entry: &StateEntry<'_>) -> Result<(), Error> {
        let group = KeyGroup::of_hash(entry.hash, self.savepoint.key_groups);
        if group < self.group {
            let reason = format!("an entry of `{}` in key group {group} after key group {}", self.operator, self.group);
            return Err(Error::Caller { reason });
        }
        self.group = group;
        self.states.insert(entry.state);
        self.entries.entries += 1;
        entries::append(entry, &mut self.block)?;
        if self.block.len() >= BLOCK_BYTES {
            self.close_block()?;
        }
        Ok(())
    }

    /// Ends the entries: they are durable.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.close_block()?;
        self.put(&0_u32.to_le_bytes())?;
        let count = self.entries.entries.to_le_bytes();
        self.put(&count)?;
        let all_before = self.hash.digest().to_le_bytes();
        self.put(&all_before)?;
        self.entries.checksum = self.hash.digest();
        self.file.finish(&self.savepoint.folder)?;
        self.savepoint.files.insert(self.operator, (self.entries, self.states));
        Ok(())
    }

    fn close_block(&mut self) -> Result<(), Error> {
        if self.block.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.block.len())
            .map_err(|_| Error::Caller { reason: format!("an entry of `{}` has more than 4 GiB", self.operator) })?;
        let block = mem::take(&mut self.block);
        self.put(&length.to_le_bytes())?;
        self.put(&block)?;
        self.put(&xxh3_64(&block).to_le_bytes())?;
        self.block = block;
        self.block.clear();
        // One large entry does not keep its room for ever.
        self.block.shrink_to(2 * BLOCK_BYTES);
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.hash.update(bytes);
        self.entries.length_bytes += bytes.len() as u64;
        self.file.write(bytes)
    }
}

/// A file that has its name only when it is whole and synced.
#[derive(Debug)]
struct Whole {
    part: PathBuf,
    path: PathBuf,
    file: File,
}

impl Whole {
    fn create(folder: &Path, name: &str) -> Result<Self, Error> {
        let (part, path) = (folder.join(format!("{name}{PART_SUFFIX}")), folder.join(name));
        let file = File::create(&part).map_err(Error::io("make", &part))?;
        Ok(Self { part, path, file })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(Error::io("write", &self.part))
    }

    fn finish(self, folder: &Path) -> Result<(), Error> {
        self.file.sync_all().map_err(Error::io("sync", &self.part))?;
        fs::rename(&self.part, &self.path).map_err(Error::io("name", &self.path))?;
        sync_folder(folder).map_err(Error::io("sync", folder))
    }
}
