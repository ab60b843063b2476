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
use crate::pieces::Pieces;

/// Up to so many new entries are put in their place one by one; more are sorted and merged.
const FEW: usize = 8;

/// Cells in order. Many maps have one entry, and need no memory of their own for it.
#[derive(Debug)]
enum Order {
    One(u32),
    Many(Vec<u32>),
}

impl Default for Order {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Order {
    fn cells(&self) -> &[u32] {
        match self {
            Self::One(cell) => std::slice::from_ref(cell),
            Self::Many(cells) => cells,
        }
    }

    fn cells_mut(&mut self) -> &mut [u32] {
        match self {
            Self::One(cell) => std::slice::from_mut(cell),
            Self::Many(cells) => cells,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(cells) => cells.capacity() * size_of::<u32>(),
        }
    }

    fn push(&mut self, cell: u32) {
        match self {
            Self::Many(cells) if cells.is_empty() => *self = Self::One(cell),
            Self::One(first) => *self = Self::Many(vec![*first, cell]),
            Self::Many(cells) => {
                if cells.len() == cells.capacity() {
                    cells.reserve_exact(cells.len() / 2 + 1);
                }
                cells.push(cell);
            }
        }
    }

    /// Keeps the cells that `stays` says; one at least.
    fn retain(&mut self, mut stays: impl FnMut(u32) -> bool) {
        let Self::Many(cells) = self else { return };
        cells.retain(|&cell| stays(cell));
        if let [cell] = cells.as_slice() {
            *self = Self::One(*cell);
        } else if cells.len() * 2 < cells.capacity() {
            cells.shrink_to(cells.len() + cells.len() / 4);
        }
    }
}

/// The entries of one map or list.
#[derive(Debug, Default)]
struct Directory {
    order: Order,
    sorted: u32,
    gone: u32,
    witness: u32,
}

impl Directory {
    /// A cell that is not gone.
    fn witness(&self) -> u32 {
        self.order.cells()[self.witness as usize]
    }
}

/// The maps and lists of a table. Directory `n` has the reference `n + 1` in the index of heads.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    pub(crate) cells: Cells,
    directories: Pieces<Directory>,
    vacant: Vec<usize>,
    order_bytes: usize,
}

/// Cells of a map are numbered with 32 bits, so a count of them fits.
fn count(cells: usize) -> u32 {
    u32::try_from(cells).expect("cells are fewer than 2^32")
}

/// The entry key at `place`.
fn entry_key(log: &Log, place: Place) -> &[u8] {
    let (bytes, at) = log.bytes(place);
    entry::entry_key(bytes, at)
}

impl Directories {
    /// Bytes of memory they take.
    pub(crate) fn bytes(&self) -> usize {
        let vacant = self.vacant.capacity() * size_of::<usize>();
        self.cells.bytes() + self.directories.bytes() + self.order_bytes + vacant
    }

    /// The position in `heads` of the directory of the map that holds `name`.
    fn find(&self, log: &Log, heads: &Index, tag: u32, name: &EntryName<'_>) -> Option<usize> {
        heads.find(tag, |reference| {
            let witness = self.directories.get(reference as usize - 1).witness();
            let (bytes, at) = log.bytes(self.cells.place(witness));
            entry::is_under(bytes, at, name)
        })
    }

    /// Notes a new entry, called `name`, in the directory of its map.
    pub(crate) fn add(&mut self, log: &Log, heads: &mut Index, tag: u32, name: &EntryName<'_>, place: Place) -> u32 {
        let cell = self.cells.add(place);
        let number = match self.find(log, heads, tag, name) {
            Some(position) => heads.reference(position) as usize - 1,
            None => {
                let number = self.vacant.pop().unwrap_or_else(|| self.directories.push(Directory::default()));
                heads.insert(tag, number as u64 + 1);
                number
            }
        };
        let order = &mut self.directories.get_mut(number).order;
        self.order_bytes -= order.bytes();
        order.push(cell);
        self.order_bytes += order.bytes();
        cell
    }

    /// The entry of `cell`, called `name`, is no more.
    pub(crate) fn remove(&mut self, log: &Log, heads: &mut Index, tag: u32, name: &EntryName<'_>, cell: u32) {
        let position = self.find(log, heads, tag, name).expect("an entry is in the directory of its map");
        let number = heads.reference(position) as usize - 1;
        self.cells.set_gone(cell);
        let directory = self.directories.get_mut(number);
        directory.gone += 1;
        let all = count(directory.order.cells().len());
        if directory.gone == all {
            heads.remove(position);
            let directory = std::mem::take(directory);
            self.order_bytes -= directory.order.bytes();
            directory.order.cells().iter().for_each(|&cell| self.cells.free(cell));
            self.vacant.push(number);
        } else if directory.gone * 2 > all {
            self.purge(number);
        } else {
            while self.cells.is_gone(directory.witness()) {
                directory.witness = (directory.witness + 1) % all;
            }
        }
    }

    /// Takes the cells that are gone out of a directory.
    fn purge(&mut self, number: usize) {
        let Directory { order, sorted, gone, witness } = self.directories.get_mut(number);
        if *gone == 0 {
            return;
        }
        let cells = &mut self.cells;
        let gone_of_sorted = order.cells()[..*sorted as usize].iter().filter(|&&cell| cells.is_gone(cell)).count();
        *sorted -= count(gone_of_sorted);
        self.order_bytes -= order.bytes();
        order.retain(|cell| {
            let stays = !cells.is_gone(cell);
            if !stays {
                cells.free(cell);
            }
            stays
        });
        self.order_bytes += order.bytes();
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
            let all = self.directories.get(number).order.cells();
            let is_before = |&cell: &u32| after.is_some_and(|after| entry_key(log, self.cells.place(cell)) <= after);
            order = &all[all.partition_point(is_before)..];
        }
        order.iter().map(|&cell| self.cells.place(cell))
    }

    /// The entries of the map that holds `name`, in any order.
    pub(crate) fn places<'a>(
        &'a self,
        log: &Log,
        heads: &Index,
        tag: u32,
        name: &EntryName<'_>,
    ) -> impl Iterator<Item = Place> + 'a {
        let number = self.find(log, heads, tag, name).map(|position| heads.reference(position) as usize - 1);
        let order = number.map_or(&[][..], |number| self.directories.get(number).order.cells());
        order.iter().filter(|&&cell| !self.cells.is_gone(cell)).map(|&cell| self.cells.place(cell))
    }

    /// Brings a directory without gone cells in order.
    fn sort(&mut self, log: &Log, number: usize) {
        let cells = &self.cells;
        let key = |cell: u32| entry_key(log, cells.place(cell));
        let directory = self.directories.get_mut(number);
        let order = directory.order.cells_mut();
        let sorted = std::mem::replace(&mut directory.sorted, count(order.len())) as usize;
        directory.witness = 0;
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
        let directory = self.directories.get(reference as usize - 1);
        let order = directory.order.cells();
        let is_there = |cell: &u32| !self.cells.is_gone(*cell);
        let cells: Vec<u32> = order.iter().copied().filter(is_there).collect();
        let sorted = order[..directory.sorted as usize].iter().copied().filter(is_there);
        let sound = sorted.is_sorted_by_key(|cell| entry_key(log, self.cells.place(cell)))
            && directory.gone as usize == order.len() - cells.len()
            && is_there(&directory.witness());
        sound.then_some(cells)
    }

    /// Whether the bytes of all orders are what they are said to be.
    pub(crate) fn order_bytes_are_exact(&self) -> bool {
        self.directories.iter().map(|directory| directory.order.bytes()).sum::<usize>() == self.order_bytes
    }
}
