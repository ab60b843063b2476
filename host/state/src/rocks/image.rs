//! Images of a table over a base: its entries in the encoding of segments, in the order of the base.
//!
//! A thread of its own walks over the base as it was when the walk began, and is at most [`AHEAD`] segments ahead of
//! who asks for them. Whoever asks for no more ends it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::base::Base;
use super::error::Error;
use super::key::Stored;
use crate::entry::{self, SEGMENT_HEADER};

/// Segments that are made before they are asked for.
const AHEAD: usize = 2;

/// A segment, the end, or why there is none.
type Sent = Result<Option<Arc<Vec<u8>>>, contract::Error>;

/// What a walk over the base is asked for.
#[derive(Debug)]
pub(super) struct Order {
    segments: SyncSender<Sent>,
    segment_bytes: usize,
}

/// The segments of an image, to be asked for one by one.
#[derive(Debug)]
pub(super) struct Image {
    segments: Receiver<Sent>,
    base: Arc<Base>,
    is_over: bool,
}

/// An image to be made, and what to make it by.
pub(super) fn order(base: &Arc<Base>, segment_bytes: usize) -> (Order, Image) {
    let (sender, segments) = sync_channel(AHEAD);
    (Order { segments: sender, segment_bytes }, Image { segments, base: Arc::clone(base), is_over: false })
}

impl Iterator for Image {
    type Item = Result<Arc<Vec<u8>>, contract::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let gone = || contract::Error::from(Error::HelperGone { operator: self.base.whose().operator.clone() });
        let sent = self.segments.recv().unwrap_or_else(|_| Err(gone()));
        self.is_over = !matches!(sent, Ok(Some(_)));
        sent.transpose()
    }
}

impl Order {
    /// Refuses.
    pub(super) fn refuse(self, error: &Error) {
        // Who asked may ask for no more.
        drop(self.segments.send(Err(error.clone().into())));
    }

    /// Begins to walk over `base`; returns when what will be part of the image is settled.
    pub(super) fn begin(self, base: Arc<Base>) -> Result<(), Error> {
        let (begun, has_begun) = sync_channel(1);
        let whose = base.whose().clone();
        let walk = move || {
            let mut filling = Vec::new();
            let made =
                base.visit_all(|| begun.send(()).unwrap_or_default(), |stored| Ok(self.take(&mut filling, &stored)));
            let last = match made {
                Ok(()) if filling.is_empty() => Ok(None),
                Ok(()) => Ok(Some(Arc::new(filling))),
                Err(error) => Err(error),
            };
            let is_last = !matches!(last, Ok(Some(_)));
            if self.segments.send(last).is_ok() && !is_last {
                drop(self.segments.send(Ok(None)));
            }
        };
        let thread = std::thread::Builder::new().name("state-image".to_owned()).spawn(walk);
        thread.map_err(|error| whose.stopped("make an image of", error.to_string()))?;
        // A walk that cannot begin says so to who asks for the first segment.
        has_begun.recv().unwrap_or_default();
        Ok(())
    }

    /// Adds an entry; whether somebody still asks.
    fn take(&self, filling: &mut Vec<u8>, stored: &Stored<'_>) -> bool {
        let size = stored.name.size(stored.value.len());
        if !filling.is_empty() && filling.len() + size > self.segment_bytes {
            let full = std::mem::take(filling);
            if self.segments.send(Ok(Some(Arc::new(full)))).is_err() {
                return false;
            }
        }
        if filling.is_empty() {
            filling.reserve_exact(self.segment_bytes.max(SEGMENT_HEADER.len() + size));
            filling.extend_from_slice(&SEGMENT_HEADER);
        }
        entry::append(filling, &stored.name, Some(stored.value), 0, stored.written);
        true
    }
}
