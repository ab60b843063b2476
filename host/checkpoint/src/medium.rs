//! Where the bytes lie: an object store, and how its calls are waited for.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};

use crate::Error;

/// What creating an object came to, as far as the medium says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It was not there, and is now.
    Created,
    /// Something is there. It may be ours.
    Exists,
}

/// Where objects lie. Several threads may use it at once.
#[derive(Debug)]
pub(crate) struct Medium {
    store: Arc<dyn ObjectStore>,
    /// The folder, where it is one of this machine: then each thread does its own input and output.
    folder: Option<PathBuf>,
    /// What drives the calls over a network.
    #[cfg(feature = "s3")]
    network: Option<crate::s3::Network>,
}

impl Medium {
    /// A folder of this machine, behind `store`.
    pub(crate) fn of_folder(store: Arc<dyn ObjectStore>, folder: &Path) -> Self {
        Self {
            store,
            folder: Some(folder.to_owned()),
            #[cfg(feature = "s3")]
            network: None,
        }
    }

    /// A store behind a network.
    #[cfg(feature = "s3")]
    pub(crate) fn of_network(store: Arc<dyn ObjectStore>, network: crate::s3::Network) -> Self {
        Self { store, folder: None, network: Some(network) }
    }

    /// Creates an object unless something is there.
    pub(crate) fn create(&self, at: &ObjectPath, payload: PutPayload) -> Result<Put, object_store::Error> {
        let options = PutOptions::from(PutMode::Create);
        match self.wait(self.store.put_opts(at, payload, options)) {
            Ok(_) => Ok(Put::Created),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                Ok(Put::Exists)
            }
            Err(source) => Err(source),
        }
    }

    /// What is there is to be durable, whoever wrote it and however far they came: an object is synced before it is
    /// linked into place, its link may not be.
    pub(crate) fn settle(&self, at: &ObjectPath) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(at.as_ref());
        let parent = path.parent().unwrap_or(folder);
        sync_folder(parent).map_err(|source| Error::medium("sync a folder", generic(source)))
    }

    /// The bytes of an object; `None` where there is none.
    pub(crate) fn read(&self, at: &ObjectPath) -> Result<Option<Bytes>, object_store::Error> {
        match self.ask(|| async { self.store.get(at).await?.bytes().await }) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(source),
        }
    }

    /// As [`Medium::read`], of an object that is as long as is known; of another its length, and nothing is read.
    pub(crate) fn read_known(
        &self,
        at: &ObjectPath,
        length_bytes: u64,
    ) -> Result<Option<Result<Bytes, u64>>, object_store::Error> {
        let read = self.ask(|| async {
            let found = self.store.get(at).await?;
            if found.meta.size != length_bytes {
                return Ok(Err(found.meta.size));
            }
            found.bytes().await.map(Ok)
        });
        match read {
            Ok(read) => Ok(Some(read)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(source),
        }
    }

    /// Removes an object; nothing happens where there is none.
    pub(crate) fn remove(&self, at: &ObjectPath) -> Result<(), object_store::Error> {
        match self.wait(self.store.delete(at)) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(source),
        }
    }

    /// The objects directly below a folder: file names.
    pub(crate) fn names(&self, folder: &ObjectPath) -> Result<Vec<String>, object_store::Error> {
        let listed = self.ask(|| self.store.list_with_delimiter(Some(folder)))?;
        Ok(listed.objects.iter().filter_map(|it| it.location.filename().map(str::to_owned)).collect())
    }

    /// The folders directly below a folder: their names.
    #[cfg(feature = "s3")]
    pub(crate) fn folders(&self, folder: &ObjectPath) -> Result<Vec<String>, object_store::Error> {
        let listed = self.ask(|| self.store.list_with_delimiter(Some(folder)))?;
        Ok(listed.common_prefixes.iter().filter_map(|it| it.filename().map(str::to_owned)).collect())
    }

    /// The objects below a folder, at any depth.
    pub(crate) fn below(&self, folder: &ObjectPath) -> Result<Vec<object_store::ObjectMeta>, object_store::Error> {
        use futures_util::TryStreamExt;
        self.ask(|| self.store.list(Some(folder)).try_collect())
    }

    /// Waits for a call that only reads. Over a network it is made once more: a client repeats a request that is not
    /// answered, and not one whose answer breaks off.
    fn ask<T, F>(&self, call: impl Fn() -> F) -> Result<T, object_store::Error>
    where
        F: Future<Output = Result<T, object_store::Error>>,
    {
        match self.wait(call()) {
            Err(object_store::Error::Generic { .. }) if self.folder.is_none() => self.wait(call()),
            answer => answer,
        }
    }

    fn wait<T>(&self, future: impl Future<Output = Result<T, object_store::Error>>) -> Result<T, object_store::Error> {
        #[cfg(feature = "s3")]
        if let Some(network) = &self.network {
            return network.wait(future);
        }
        block_on(future)
    }
}

/// Syncs a folder, so that what was linked into it or made in it stays.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A system's error as the store's own.
pub(crate) fn generic(source: io::Error) -> object_store::Error {
    object_store::Error::Generic { store: "LocalFileSystem", source: Box::new(source) }
}

/// Runs a future on this thread. Without a runtime around it, a local store does its input and output right here.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
