//! The resident filter: which names the base does not hold, without asking it.
//!
//! A blocked Bloom filter: eight bits of a name in one block of 32 bytes, [`BITS`] bits a name, so that under
//! one name in a hundred that the base does not hold is looked for there. Filters grow by a further one of four
//! times the size; a name is held if one of them says so.
//!
//! # Invariants
//! 1. Of a name that was added it never says that it is not there.
//! 2. Names are added by one thread, before the message that says so is read by the one that asks.
//! 3. A name that the base no longer holds stays, until the filter is made anew: when it has three names for each
//!    entry that the table holds, a million at least, and twice those it had when it was last made (`table`).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::entry::EntryName;
use crate::prefetch::prefetch;

/// Bits a name.
const BITS: u64 = 12;
/// Names that the first layer has room for.
const FIRST_NAMES: u64 = 1 << 18;
/// Layers: together they have room for 2^36 names.
const LAYERS: usize = 10;
const WORDS: usize = 8;

/// Odd numbers, one for each word of a block.
const SALTS: [u32; WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// What the filter knows of a name.
#[inline]
pub(super) fn print_of(name: &EntryName<'_>) -> u64 {
    let of_key = print_of_key(name);
    match name.entry_key {
        None => of_key,
        Some(entry_key) => mixed(xxh3_64_with_seed(entry_key, of_key)),
    }
}

/// What it knows of a map or list that holds something; of a value its name.
#[inline]
pub(super) fn print_of_key(name: &EntryName<'_>) -> u64 {
    mixed(name.hash ^ u64::from(name.state.0).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Hashes of one key group share their high bits: all bits have to take part.
#[inline]
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

type Block = [AtomicU32; WORDS];

#[derive(Debug)]
struct Layer {
    blocks: Box<[Block]>,
    room: u64,
    names: AtomicU64,
}

impl Layer {
    fn new(room: u64) -> Self {
        let count = usize::try_from((room * BITS).div_ceil(256)).expect("a filter fits into memory");
        let blocks = std::iter::repeat_with(Block::default).take(count).collect();
        Self { blocks, room, names: AtomicU64::new(0) }
    }

    #[inline]
    fn block(&self, print: u64) -> Option<&Block> {
        self.blocks.get(((u128::from(print) * self.blocks.len() as u128) >> 64) as usize)
    }

    #[inline]
    fn holds(&self, print: u64) -> bool {
        let bit = |salt: u32| 1u32 << ((print as u32).wrapping_mul(salt) >> 27);
        self.block(print).is_some_and(|block| {
            block.iter().zip(SALTS).all(|(word, salt)| word.load(Ordering::Relaxed) & bit(salt) != 0)
        })
    }

    fn add(&self, print: u64) {
        let Some(block) = self.block(print) else { return };
        let mut is_new = false;
        for (word, salt) in block.iter().zip(SALTS) {
            let bit = 1u32 << ((print as u32).wrapping_mul(salt) >> 27);
            is_new |= word.fetch_or(bit, Ordering::Relaxed) & bit == 0;
        }
        self.names.fetch_add(u64::from(is_new), Ordering::Relaxed);
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Filter {
    layers: [OnceLock<Layer>; LAYERS],
}

impl Filter {
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().map_while(OnceLock::get)
    }

    /// Whether nothing was added.
    pub(super) fn is_empty(&self) -> bool {
        self.layers().next().is_none()
    }

    /// Asks for the lines in which a search for `print` looks.
    #[inline]
    pub(super) fn prefetch(&self, print: u64) {
        self.layers().filter_map(|layer| layer.block(print)).for_each(prefetch);
    }

    /// Whether the base may hold the name with `print`.
    #[inline]
    pub(super) fn may_hold(&self, print: u64) -> bool {
        self.layers().any(|layer| layer.holds(print))
    }

    /// Adds a name.
    pub(super) fn add(&self, print: u64) {
        let mut room = FIRST_NAMES;
        for layer in &self.layers {
            let layer = layer.get_or_init(|| Layer::new(room));
            if layer.names.load(Ordering::Relaxed) < layer.room {
                return layer.add(print);
            }
            if layer.holds(print) {
                return;
            }
            room = layer.room * 4;
        }
        // Beyond all room: the last one fills up and says yes more often.
        self.layers().last().into_iter().for_each(|layer| layer.add(print));
    }

    /// Names that were added, about.
    pub(super) fn names(&self) -> u64 {
        self.layers().map(|layer| layer.names.load(Ordering::Relaxed)).sum()
    }

    /// Bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.layers().map(|layer| size_of_val(&*layer.blocks)).sum()
    }
}

/// A filter that may be replaced by one made anew.
pub(super) type SharedFilter = Arc<Filter>;

#[cfg(test)]
mod tests;
