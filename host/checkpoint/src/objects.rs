//! Objects of pieces in a medium.

use std::sync::Arc;

use contract::{ListedObject, ObjectHandle, SnapshotStore, check_object_name};
use model::HostTime;
use object_store::path::Path as ObjectPath;

use crate::LOG_FOLDER;
use crate::error::Error;
use crate::medium::{Medium, Put};
use crate::pieces;

/// Objects below one folder of a medium, beside the log.
#[derive(Debug)]
pub(crate) struct Objects {
    medium: Arc<Medium>,
    folder: ObjectPath,
}

impl Objects {
    pub(crate) fn new(medium: Arc<Medium>, folder: ObjectPath) -> Self {
        Self { medium, folder }
    }

    fn try_put(&self, name: &str, pieces: &[Arc<Vec<u8>>]) -> Result<ObjectHandle, Error> {
        let encoded = pieces::encode(name, pieces);
        let at = self.path_of(name);
        match self.medium.create(&at, encoded.payload) {
            Ok(Put::Created) => Ok(encoded.handle),
            Ok(Put::Exists) => self.whether_same(encoded.handle),
            Err(source) => Err(Error::medium(&format!("put object `{name}`"), source)),
        }
    }

    /// The handle, if what is there is what it says.
    fn whether_same(&self, handle: ObjectHandle) -> Result<ObjectHandle, Error> {
        match self.try_get(&handle) {
            Ok(_) => {
                self.medium.settle(&self.path_of(&handle.name))?;
                Ok(handle)
            }
            Err(Error::Damaged { .. }) if self.is_whole(&handle.name)? => {
                Err(Error::ContentDiffers { name: handle.name })
            }
            // The write that was in the way has not arrived, or has failed.
            Err(Error::Missing { name }) => Err(Error::Conflict { object: format!("object `{name}`") }),
            Err(error) => Err(error),
        }
    }

    /// Whether what is there fits its own checksum.
    fn is_whole(&self, name: &str) -> Result<bool, Error> {
        let read = self.medium.read(&self.path_of(name));
        let read = read.map_err(|source| Error::medium(&format!("get object `{name}`"), source))?;
        Ok(read.is_some_and(|bytes| pieces::is_whole(&bytes)))
    }

    fn try_get(&self, handle: &ObjectHandle) -> Result<Vec<Arc<Vec<u8>>>, Error> {
        let read = self.medium.read_known(&self.path_of(&handle.name), handle.length_bytes);
        match read.map_err(|source| Error::medium(&format!("get object `{}`", handle.name), source))? {
            None => Err(Error::Missing { name: handle.name.clone() }),
            Some(Ok(bytes)) => pieces::decode(handle, &bytes),
            Some(Err(length_bytes)) => Err(pieces::other_length(handle, length_bytes)),
        }
    }

    fn try_delete(&self, name: &str) -> Result<(), Error> {
        let removed = self.medium.remove(&self.path_of(name));
        removed.map_err(|source| Error::medium(&format!("delete object `{name}`"), source))
    }

    fn try_list(&self, prefix: &str) -> Result<Vec<ListedObject>, Error> {
        let below = if prefix.is_empty() { self.folder.clone() } else { self.path_of(prefix) };
        let objects = self.medium.below(&below);
        let objects = objects.map_err(|source| Error::medium(&format!("list objects below `{prefix}`"), source))?;
        let objects = objects.iter().filter_map(|it| {
            let name = self.name_of(it.location.as_ref()).filter(|name| check_name(name).is_ok())?.to_owned();
            let modified = HostTime(it.last_modified.timestamp_millis());
            Some(ListedObject { name, length_bytes: it.size, modified })
        });
        Ok(objects.collect())
    }

    fn path_of(&self, name: &str) -> ObjectPath {
        name.split('/').fold(self.folder.clone(), |path, segment| path.join(segment))
    }

    fn name_of<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.folder.as_ref())?.strip_prefix('/')
    }
}

impl SnapshotStore for Objects {
    fn put(&self, name: &str, pieces: &[Arc<Vec<u8>>]) -> Result<ObjectHandle, contract::Error> {
        check_name(name)?;
        Ok(self.try_put(name, pieces)?)
    }

    fn get(&self, handle: &ObjectHandle) -> Result<Vec<Arc<Vec<u8>>>, contract::Error> {
        check_name(&handle.name)?;
        Ok(self.try_get(handle)?)
    }

    fn delete(&self, name: &str) -> Result<(), contract::Error> {
        check_name(name)?;
        Ok(self.try_delete(name)?)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ListedObject>, contract::Error> {
        if !prefix.is_empty() {
            check_name(prefix)?;
        }
        Ok(self.try_list(prefix)?)
    }
}

fn check_name(name: &str) -> Result<(), contract::Error> {
    check_object_name(name)?;
    if is_of_log(name) {
        return Err(Error::Reserved { name: name.to_owned() }.into());
    }
    Ok(())
}

fn is_of_log(name: &str) -> bool {
    name.split('/').next() == Some(LOG_FOLDER)
}
