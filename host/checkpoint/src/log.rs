//! The manifest log in a medium.

use std::sync::Arc;

use contract::{CheckpointStore, Creation, Nonce, ObjectNumber, StoredObject};
use object_store::PutPayload;
use object_store::path::Path as ObjectPath;

use crate::error::Error;
use crate::frame::{self, of_log};
use crate::medium::{Medium, Put};

/// Digits of the largest number, so that names sort as numbers do.
const DIGITS: usize = 20;

/// How often a creation is tried that ran into another one of which nothing is there.
const ATTEMPTS: u32 = 3;

/// Numbered objects in one folder of a medium.
#[derive(Debug)]
pub(crate) struct Log {
    medium: Arc<Medium>,
    folder: ObjectPath,
}

impl Log {
    pub(crate) fn new(medium: Arc<Medium>, folder: ObjectPath) -> Self {
        Self { medium, folder }
    }

    fn try_create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error> {
        let frame = PutPayload::from(frame::encode(nonce, body));
        let at = self.path_of(number);
        for _ in 0..ATTEMPTS {
            let creation = match self.medium.create(&at, frame.clone()) {
                Ok(Put::Created) => Some(Creation::Created),
                Ok(Put::Exists) => self.whose(number, nonce, body)?,
                Err(source) => Some(self.after_no_answer(number, nonce, body, source)?),
            };
            // The number may be free only because its object was removed: then there are higher ones.
            let overtaken = self.try_newest()?.is_some_and(|newest| newest > number);
            match creation {
                _ if overtaken => return Ok(Creation::Taken),
                Some(creation) => return Ok(creation),
                None => {}
            }
        }
        Err(Error::Conflict { object: of_log(number) })
    }

    /// What came of a creation that was not answered: it is read back, and stays unknown where nothing is there, since
    /// it may still arrive.
    fn after_no_answer(
        &self,
        number: ObjectNumber,
        nonce: Nonce,
        body: &[u8],
        source: object_store::Error,
    ) -> Result<Creation, Error> {
        match self.whose(number, nonce, body) {
            Ok(Some(creation)) => Ok(creation),
            Err(error @ Error::NonceReused { .. }) => Err(error),
            Ok(None) | Err(_) => Err(Error::medium(&format!("create {}", of_log(number)), source)),
        }
    }

    /// Whose the object is that stands in the way.
    fn whose(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Option<Creation>, Error> {
        match self.try_read(number)? {
            None => Ok(None),
            Some(there) if there.nonce != nonce => Ok(Some(Creation::Taken)),
            Some(there) if there.body != body => Err(Error::NonceReused { object: of_log(number) }),
            Some(_) => {
                self.medium.settle(&self.path_of(number))?;
                Ok(Some(Creation::Created))
            }
        }
    }

    fn try_read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error> {
        let read = self.medium.read(&self.path_of(number));
        let read = read.map_err(|source| Error::medium(&format!("read {}", of_log(number)), source))?;
        read.map(|frame| frame::decode(number, &frame)).transpose()
    }

    fn try_list(&self) -> Result<Vec<ObjectNumber>, Error> {
        let names = self.medium.names(&self.folder);
        let names = names.map_err(|source| Error::medium("list the manifest log", source))?;
        let mut numbers: Vec<ObjectNumber> = names.iter().filter_map(|it| number_of(it)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn try_newest(&self) -> Result<Option<ObjectNumber>, Error> {
        Ok(self.try_list()?.last().copied())
    }

    fn try_remove(&self, number: ObjectNumber) -> Result<(), Error> {
        match self.try_newest()? {
            Some(newest) if newest == number => Err(Error::NewestRemoved { object: of_log(number) }),
            // Nothing there is above it: what is not listed may be the newest.
            Some(newest) if newest > number => {
                let removed = self.medium.remove(&self.path_of(number));
                removed.map_err(|source| Error::medium(&format!("remove {}", of_log(number)), source))
            }
            _ => Ok(()),
        }
    }

    fn path_of(&self, number: ObjectNumber) -> ObjectPath {
        self.folder.clone().join(format!("{:0DIGITS$}", number.0))
    }
}

impl CheckpointStore for Log {
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, contract::Error> {
        Ok(self.try_create(number, nonce, body)?)
    }

    fn list(&self) -> Result<Vec<ObjectNumber>, contract::Error> {
        Ok(self.try_list()?)
    }

    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, contract::Error> {
        Ok(self.try_read(number)?)
    }

    fn remove(&self, number: ObjectNumber) -> Result<(), contract::Error> {
        Ok(self.try_remove(number)?)
    }
}

/// The number of a file's name; `None` for what is not an object, such as an unfinished upload.
fn number_of(name: &str) -> Option<ObjectNumber> {
    let is_number = name.len() == DIGITS && name.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| name.parse().ok().map(ObjectNumber)).flatten()
}
