//! The store on a local disk.

use std::path::Path;

use contract::{CheckpointStore, Creation, Nonce, ObjectNumber, StoredObject};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;
use crate::frame;

/// The folder of the objects, below the store's own.
const FOLDER: &str = "log";
/// Digits of the largest number, so that names sort as numbers do.
const DIGITS: usize = 20;

/// A checkpoint store in a folder. Files and folders are synced before an object counts as created.
///
/// Its calls block, and must not be made from an asynchronous task.
#[derive(Debug)]
pub struct LocalCheckpoints {
    files: LocalFileSystem,
    io: Runtime,
}

impl LocalCheckpoints {
    /// Opens the store in `folder`, which is made where it does not exist.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(|source| Error::CannotStart { source })?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(medium("open"))?.with_fsync(true);
        let io = Builder::new_current_thread().build().map_err(|source| Error::CannotStart { source })?;
        Ok(Self { files, io })
    }

    fn try_create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        let frame = PutPayload::from(frame::encode(nonce, body));
        let options = PutOptions::from(PutMode::Create);
        if self.try_list()?.last().is_some_and(|newest| *newest > number) {
            return Ok(Creation::Taken);
        }
        match self.io.block_on(self.files.put_opts(&path_of(number), frame, options)) {
            Ok(_) => Ok(Creation::Created),
            Err(object_store::Error::AlreadyExists { .. }) => self.whose(number, nonce, body),
            Err(source) => Err(medium(&format!("create object {number}"))(source)),
        }
    }

    /// Whose the object is that stands in the way.
    fn whose(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        match self.try_read(number)? {
            Some(there) if there.nonce != nonce => Ok(Creation::Taken),
            Some(there) if there.body == body => Ok(Creation::Created),
            Some(_) => Err(Error::NonceReused { number }),
            None => Err(Error::Damaged { number, reason: "it exists, and is gone when read".to_owned() }),
        }
    }

    fn try_read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        let path = path_of(number);
        let read = self.io.block_on(async { self.files.get(&path).await?.bytes().await });
        match read {
            Ok(frame) => frame::decode(number, &frame).map(Some),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(medium(&format!("read object {number}"))(source)),
        }
    }

    fn try_list(&self) -> Result<Vec<ObjectNumber>, Error> {
        let folder = ObjectPath::from(FOLDER);
        let listed = self.io.block_on(self.files.list_with_delimiter(Some(&folder))).map_err(medium("list objects"))?;
        let mut numbers: Vec<ObjectNumber> =
            listed.objects.iter().filter_map(|it| number_of(it.location.filename()?)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

impl CheckpointStore for LocalCheckpoints {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, contract::Error> {
        Ok(self.try_create(number, nonce, body)?)
    }

    fn list(&self) -> Result<Vec<ObjectNumber>, contract::Error> {
        Ok(self.try_list()?)
    }

    fn remove(&self, number: ObjectNumber) -> Result<(), contract::Error> {
        if self.try_list()?.last() == Some(&number) {
            return Err(Error::NewestRemoved { number }.into());
        }
        match self.io.block_on(self.files.delete(&path_of(number))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(medium(&format!("remove object {number}"))(source).into()),
        }
    }

    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, contract::Error> {
        Ok(self.try_read(number)?)
    }
}

fn medium(action: &str) -> impl FnOnce(object_store::Error) -> Error {
    let action = action.to_owned();
    move |source| Error::Medium { action, source }
}

fn path_of(number: ObjectNumber) -> ObjectPath {
    ObjectPath::from(format!("{FOLDER}/{:0DIGITS$}", number.0))
}

/// The number of a file's name; `None` for what is not an object, such as an unfinished upload.
fn number_of(name: &str) -> Option<ObjectNumber> {
    let is_number = name.len() == DIGITS && name.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| name.parse().ok().map(ObjectNumber)).flatten()
}
