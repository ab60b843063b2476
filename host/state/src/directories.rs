//! Directories: which entries a map or list has, in order when somebody looks.
//!
//! New entries are noted at the end. A scan sorts what was added since the last one, so paging through
//! a map sorts it once, and a list, whose entry keys rise, is never sorted at all. (A chain through the
//! entries themselves would break whenever the cleaner moves one, because sealed segments cannot be
//! changed.)
//!
//! # Invariants
//! 1. The first `sorted` cells are in the order of their entry keys, as far as they are not gone.
//! 2. `order[witness]` is not gone: a directory always has an entry, by which it is recognised.
//! 3. A gone cell is freed when it leaves its directory, not before.
#![expect(clippy::indexing_slicing, reason = "numbers of directories are made here, the witness is invariant 2")]

use crate::cells::Cells;
use crate::entry::{self, EntryName};
use crate::index::Index;
use crate::log::{Log, Place};

/// Up to so many new entries are put in their place one by one; more are sorted and merged.
const FEW: usize = 8;

/// The entries of one map or list.
#[derive(Debug, Default)]
struct Directory {
    order: Vec<u32>,
    sorted: usize,
    gone: usize,
    witness: usize,
}

/// The maps and lists of a table. Directory `n` has the reference `n + 1` in the index of heads.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    pub(crate) cells: Cells,
    directories: Vec<Directory>,
    vacant: Vec<usize>,
    order_bytes: usize,
}

/// The entry key at `place`.
fn entry_key(log: &Log, place: Place) -> &[u8] {
    let (bytes, at) = log.bytes(place);
    entry::entry_key(bytes, at)
}

impl Directories {
    /// Bytes of memory they take.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.bytes()
            + self.order_bytes
            + self.directories.capacity() * size_of::<Directory>()
            + self.vacant.capacity() * size_of::<usize>()
    }

    /// The position in `heads` of the directory of the map that holds `name`.
    fn find(&self, log: &Log, heads: &Index, tag: u32, name: &EntryName<'_>) -> Option<usize> {
        heads.find(tag, |reference| {
            let directory = &self.directories[reference as usize - 1];
            let (bytes, at) = log.bytes(self.cells.place(directory.order[directory.witness]));
            entry::is_under(bytes, at, name)
        })
    }

    /// Notes a new entry, called `name`, in the directory of its map.
    pub(crate) fn add(&mut self, log: &Log, heads: &mut Index, tag: u32, name: &EntryName<'_>, place: Place) -> u32 {
        let cell = self.cells.add(place);
        let number = match self.find(log, heads, tag, name) {
            Some(position) => heads.reference(position) as usize - 1,
            None => {
                let number = self.vacant.pop().unwrap_or_else(|| {
                    self.directories.push(Directory::default());
                    self.directories.len() - 1
                });
                heads.insert(tag, number as u64 + 1);
                number
            }
        };
        let order = &mut self.directories[number].order;
        self.order_bytes -= order.capacity() * size_of::<u32>();
        if order.len() == order.capacity() {
            order.reserve_exact(order.len() / 2 + 1);
        }
        order.push(cell);
        self.order_bytes += order.capacity() * size_of::<u32>();
        cell
    }

    /// The entry of `cell`, called `name`, is no more.
    pub(crate) fn remove(&mut self, log: &Log, heads: &mut Index, tag: u32, name: &EntryName<'_>, cell: u32) {
        let position = self.find(log, heads, tag, name).expect("an entry is in the directory of its map");
        let number = heads.reference(position) as usize - 1;
        self.cells.set_gone(cell);
        let directory = &mut self.directories[number];
        directory.gone += 1;
        if directory.gone == directory.order.len() {
            heads.remove(position);
            let directory = std::mem::take(directory);
            self.order_bytes -= directory.order.capacity() * size_of::<u32>();
            directory.order.iter().for_each(|&cell| self.cells.free(cell));
            self.vacant.push(number);
        } else if directory.gone * 2 > directory.order.len() {
            self.purge(number);
        } else {
            let is_gone = |witness: usize| self.cells.is_gone(directory.order[witness]);
            while is_gone(directory.witness) {
                directory.witness = (directory.witness + 1) % directory.order.len();
            }
        }
    }

    /// Takes the cells that are gone out of a directory.
    fn purge(&mut self, number: usize) {
        let Directory { order, sorted, gone, witness } = &mut self.directories[number];
        if *gone == 0 {
            return;
        }
        *sorted -= order[..*sorted].iter().filter(|&&cell| self.cells.is_gone(cell)).count();
        self.order_bytes -= order.capacity() * size_of::<u32>();
        order.retain(|&cell| {
            let stays = !self.cells.is_gone(cell);
            if !stays {
                self.cells.free(cell);
            }
            stays
        });
        if order.len() * 2 < order.capacity() {
            order.shrink_to(order.len() + order.len() / 4);
        }
        self.order_bytes += order.capacity() * size_of::<u32>();
        (*gone, *witness) = (0, 0);
    }

    /// The entries of the map that holds `name`, in order of their entry keys, after `after`.
    pub(crate) fn scan<'a>(
        &'a mut self,
        log: &'a Log,
        heads: &Index,
        tag: u32,
        name: &EntryName<'_>,
        after: Option<&[u8]>,
    ) -> impl Iterator<Item = Place> + 'a {
        let number = self.find(log, heads, tag, name).map(|position| heads.reference(position) as usize - 1);
        let mut order: &[u32] = &[];
        if let Some(number) = number {
            self.purge(number);
            self.sort(log, number);
            let all = &self.directories[number].order;
            let is_before = |&cell: &u32| after.is_some_and(|after| entry_key(log, self.cells.place(cell)) <= after);
            order = &all[all.partition_point(is_before)..];
        }
        order.iter().map(|&cell| self.cells.place(cell))
    }

    /// Brings a directory without gone cells in order.
    fn sort(&mut self, log: &Log, number: usize) {
        let cells = &self.cells;
        let key = |cell: u32| entry_key(log, cells.place(cell));
        let directory = &mut self.directories[number];
        directory.witness = 0;
        let sorted = std::mem::replace(&mut directory.sorted, directory.order.len());
        let order = &mut directory.order;
        order[sorted..].sort_unstable_by(|&one, &other| key(one).cmp(key(other)));
        let follows = |at: usize| key(order[at - 1]) < key(order[at]);
        if sorted == 0 || sorted == order.len() || follows(sorted) {
            return;
        }
        if order.len() - sorted > FEW {
            // Two sorted runs: the stable sort finds them and merges.
            order.sort_by(|&one, &other| key(one).cmp(key(other)));
            return;
        }
        for next in sorted..order.len() {
            let place = order[..next].partition_point(|&cell| key(cell) < key(order[next]));
            order[place..=next].rotate_right(1);
        }
    }
}

#[cfg(test)]
impl Directories {
    /// The cells that are not gone of the directory with `reference`, or `None` if an invariant is
    /// broken.
    pub(crate) fn sound_cells(&self, log: &Log, reference: u64) -> Option<Vec<u32>> {
        let directory = &self.directories[reference as usize - 1];
        let is_there = |cell: &u32| !self.cells.is_gone(*cell);
        let cells: Vec<u32> = directory.order.iter().copied().filter(is_there).collect();
        let sorted = directory.order[..directory.sorted].iter().copied().filter(is_there);
        let sound = sorted.is_sorted_by_key(|cell| entry_key(log, self.cells.place(cell)))
            && directory.gone == directory.order.len() - cells.len()
            && is_there(&directory.order[directory.witness]);
        sound.then_some(cells)
    }

    /// Bytes of all orders, counted.
    pub(crate) fn order_bytes_are_exact(&self) -> bool {
        let counted: usize = self.directories.iter().map(|directory| directory.order.capacity()).sum();
        counted * size_of::<u32>() == self.order_bytes
    }
}
