//! The log that decides which epochs exist.

pub use model::{Creation, ObjectNumber};

use crate::Error;

/// Who wrote an object: a number that nobody else draws, chosen once per attempt to create it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nonce(pub u128);

/// An object of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Who wrote it.
    pub nonce: Nonce,
    /// What was written.
    pub body: Vec<u8>,
}

/// Numbered objects that are created once and never change.
///
/// This is the one thing that has to be linearizable: of several that create the same number, one is
/// told [`Creation::Created`].
///
/// # Promises
/// 1. After [`Creation::Created`] the object is durable, and every later read, by anyone, returns it whole.
/// 2. A number is created at most once. Creating it again with the same nonce and body is no second
///    creation: the answer is [`Creation::Created`], so a caller that lost the answer may ask again.
///    A number below the newest is always [`Creation::Taken`]: whoever asks for it has been overtaken. So numbers
///    of objects that were removed never come back.
/// 3. A read returns a whole object or none; a damaged one is an error, never a shorter body.
/// 4. An error means that the outcome is unknown unless its [`Error::retry`] says otherwise.
/// 5. The newest object is never removed.
///
/// Calls may block for as long as the medium takes; data threads never make them.
pub trait CheckpointStore: Send + Sync {
    /// Creates object `number` unless it, or a higher one, exists.
    ///
    /// # Errors
    /// When the medium does not answer, or the same nonce was used with another body.
    fn create(&self, number: ObjectNumber, nonce: Nonce, body: &[u8]) -> Result<Creation, Error>;

    /// The numbers there are, rising.
    ///
    /// # Errors
    /// When the medium does not answer.
    fn list(&self) -> Result<Vec<ObjectNumber>, Error>;

    /// The object `number`; `None` where there is none.
    ///
    /// # Errors
    /// When the medium does not answer, or the object is damaged or of a newer format.
    fn read(&self, number: ObjectNumber) -> Result<Option<StoredObject>, Error>;

    /// Removes object `number`, which nobody needs any more; nothing happens where there is none.
    ///
    /// # Errors
    /// When the medium does not answer, or the object is the newest: ours to blame, and nothing has changed.
    fn remove(&self, number: ObjectNumber) -> Result<(), Error>;
}
