//! Buffers that batches share, used again once no batch holds them.
//!
//! A batch points into its arena, so an arena is free when its last batch is dropped. Using the same few
//! again keeps them in the cache and saves a page fault every 4 KiB.

use std::collections::VecDeque;
use std::sync::Arc;

/// How many arenas are kept in sight: what a few queues hold; more in flight are made anew.
const MOST_KEPT: usize = 8;

/// Arenas of one size. A pool is asked for buffers in one way only: whole ones, or empty ones.
#[derive(Debug)]
pub(crate) struct ArenaPool {
    arena_bytes: usize,
    lent: VecDeque<Arc<Vec<u8>>>,
}

impl ArenaPool {
    pub(crate) fn new(arena_bytes: usize) -> Self {
        Self { arena_bytes, lent: VecDeque::new() }
    }

    pub(crate) fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    /// A buffer of at least `least_bytes`, whose bytes are whatever they were.
    pub(crate) fn take(&mut self, least_bytes: usize) -> Vec<u8> {
        if least_bytes > self.arena_bytes {
            return vec![0; least_bytes];
        }
        self.reuse().unwrap_or_else(|| vec![0; self.arena_bytes])
    }

    /// An empty buffer to append to.
    pub(crate) fn take_empty(&mut self) -> Vec<u8> {
        let mut buffer = self.reuse().unwrap_or_else(|| Vec::with_capacity(self.arena_bytes));
        buffer.clear();
        buffer
    }

    fn reuse(&mut self) -> Option<Vec<u8>> {
        let free = self.lent.iter().position(|arena| Arc::strong_count(arena) == 1)?;
        self.lent.remove(free).and_then(|arena| Arc::try_unwrap(arena).ok())
    }

    /// Shares a buffer with batches, and remembers it unless it has grown.
    pub(crate) fn lend(&mut self, buffer: Vec<u8>) -> Arc<Vec<u8>> {
        let arena = Arc::new(buffer);
        if arena.capacity() <= 2 * self.arena_bytes {
            if self.lent.len() == MOST_KEPT {
                self.lent.pop_front();
            }
            self.lent.push_back(Arc::clone(&arena));
        }
        arena
    }
}
