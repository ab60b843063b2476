//! What a run put out: how many records, and which.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

/// Takes the output of a bare loop, a record at a time.
pub(crate) trait Out {
    /// Takes a record.
    ///
    /// # Errors
    /// When it cannot be written.
    fn put(&mut self, record: &[u8]) -> anyhow::Result<()>;

    /// Ends the output and says what it was.
    ///
    /// # Errors
    /// When what was buffered cannot be written.
    fn finish(&mut self) -> anyhow::Result<Tally>;
}

/// How many records came out, and a checksum of them that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tally {
    /// How many.
    pub(crate) records: u64,
    /// The wrapping sum of the XXH3 of each; 0 where nothing was summed.
    pub(crate) checksum: u64,
}

impl Tally {
    /// Counts `record` and sums it in.
    #[inline]
    pub(crate) fn sum(&mut self, record: &[u8]) {
        self.records += 1;
        self.checksum = self.checksum.wrapping_add(xxh3_64(record));
    }
}

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Counting(u64);

impl Out for Counting {
    #[inline]
    fn put(&mut self, record: &[u8]) -> anyhow::Result<()> {
        black_box(record);
        self.0 += 1;
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<Tally> {
        Ok(Tally { records: self.0, checksum: 0 })
    }
}

/// Counts and sums.
#[derive(Debug, Default)]
pub(crate) struct Summing(Tally);

impl Out for Summing {
    #[inline]
    fn put(&mut self, record: &[u8]) -> anyhow::Result<()> {
        self.0.sum(record);
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<Tally> {
        Ok(self.0)
    }
}

/// Counts and writes lines.
#[derive(Debug)]
pub(crate) struct Writing {
    file: BufWriter<File>,
    records: u64,
}

impl Writing {
    /// A new file at `path`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { file: BufWriter::with_capacity(1 << 18, File::create(path)?), records: 0 })
    }
}

impl Out for Writing {
    #[inline]
    fn put(&mut self, record: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(record)?;
        self.file.write_all(b"\n")?;
        self.records += 1;
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<Tally> {
        self.file.flush()?;
        // The engine's file sink ends with its file on the disk, so this does too.
        self.file.get_ref().sync_all()?;
        Ok(Tally { records: self.records, checksum: 0 })
    }
}
