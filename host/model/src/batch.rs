//! The unit that moves: a batch of records, column by column.
//!
//! # Invariants
//! 1. Every per-row column has as many rows as `values`.
//! 2. Origins are as many as rows: a record knows its source, split and position wherever it goes.

use crate::{Column, EventTime, FieldColumn, OptionalColumn, Position, SourceId, SplitIndex, Values};

/// A run of rows from one split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginRun {
    /// The source.
    pub source: SourceId,
    /// The split of that source.
    pub split: SplitIndex,
    /// How many rows.
    pub rows: u32,
}

/// Where each row came from: run-length coded splits, one position per row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    runs: Vec<OriginRun>,
    positions: Vec<Position>,
}

impl Origins {
    /// Appends one row.
    #[inline]
    pub fn push(&mut self, source: SourceId, split: SplitIndex, position: Position) {
        match self.runs.last_mut() {
            Some(run) if run.source == source && run.split == split => run.rows += 1,
            _ => self.runs.push(OriginRun { source, split, rows: 1 }),
        }
        self.positions.push(position);
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The runs, in order.
    #[must_use]
    pub fn runs(&self) -> &[OriginRun] {
        &self.runs
    }

    /// The position of each row.
    #[must_use]
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Where `row` came from; `None` when there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<(SourceId, SplitIndex, Position)> {
        let position = *self.positions.get(row)?;
        let mut first = 0;
        for run in &self.runs {
            first += run.rows as usize;
            if row < first {
                return Some((run.source, run.split, position));
            }
        }
        None
    }

    /// The rows `rows`, in that order.
    ///
    /// # Panics
    /// When a row is not below [`Self::len`].
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the rows are the caller's promise")]
    pub fn select(&self, rows: &[u32]) -> Self {
        if let [run] = self.runs.as_slice() {
            let rows_kept = u32::try_from(rows.len()).expect("a batch has fewer than 2^32 rows");
            let runs = if rows.is_empty() { Vec::new() } else { vec![OriginRun { rows: rows_kept, ..*run }] };
            let positions = rows.iter().map(|&row| self.positions[row as usize]).collect();
            return Self { runs, positions };
        }
        let mut ends = Vec::with_capacity(self.runs.len());
        let mut end = 0;
        for run in &self.runs {
            end += run.rows;
            ends.push(end);
        }
        let mut selected = Self::default();
        for &row in rows {
            let run = self.runs[ends.partition_point(|&end| end <= row)];
            selected.push(run.source, run.split, self.positions[row as usize]);
        }
        selected
    }
}

/// Headers of the records of a batch: header `i` belongs to row `owners[i]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// The row of each header; never falls.
    pub owners: Vec<u32>,
    /// The name of each header; names may repeat within a row.
    pub names: Column,
    /// The value of each header; an absent one is not the same as an empty one.
    pub values: OptionalColumn,
}

impl Headers {
    /// The headers of `row`, in order.
    pub fn of_row(&self, row: u32) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let first = self.owners.partition_point(|&owner| owner < row);
        let end = self.owners.partition_point(|&owner| owner <= row);
        (first..end).map(|header| (self.names.get(header), self.values.get(header)))
    }

    /// Bytes that names, values and owners take.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.names.weight_bytes() + self.values.weight_bytes() + self.owners.len() * size_of::<u32>()
    }

    /// The headers of the rows `rows`, in that order.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        let mut selected = Self::default();
        for (new_row, &row) in (0u32..).zip(rows) {
            for (name, value) in self.of_row(row) {
                selected.owners.push(new_row);
                selected.names.push(name);
                selected.values.push(value);
            }
        }
        selected
    }
}

/// What a keyed edge adds to its records: the key they are partitioned by, and its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// The partition key of each row.
    pub keys: Column,
    /// The hash of each key, by the one key hash of the job.
    pub hashes: Vec<u64>,
}

/// A batch of records.
#[derive(Clone, Debug, Default)]
pub struct RecordBatch {
    /// The value of each row.
    pub values: Values,
    /// The record key of each row; `None` where no record has one.
    pub record_keys: Option<OptionalColumn>,
    /// Event times; [`EventTime::UNKNOWN`] where a record has none.
    pub timestamps: Vec<EventTime>,
    /// `None` where no record has headers.
    pub headers: Option<Headers>,
    /// Where each row came from.
    pub origins: Origins,
    /// The partition key, on a keyed edge.
    pub routing: Option<Routing>,
    /// The fields that the receiving function asked for, in its order.
    pub fields: Vec<FieldColumn>,
}

impl RecordBatch {
    /// Number of rows.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// What the batch weighs in a bounded queue: bytes of everything in it that can grow, and the fixed
    /// part of a row.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        const ROW: usize = size_of::<EventTime>() + size_of::<Position>() + size_of::<u64>();
        let record_keys = self.record_keys.as_ref().map_or(0, OptionalColumn::weight_bytes);
        let headers = self.headers.as_ref().map_or(0, Headers::weight_bytes);
        let keys = self.routing.as_ref().map_or(0, |routing| routing.keys.weight_bytes());
        let fields: usize = self.fields.iter().map(FieldColumn::weight_bytes).sum();
        self.values.total_bytes() + record_keys + headers + keys + fields + self.len() * ROW
    }

    /// The rows `rows`, in that order; values are shared, not copied.
    ///
    /// # Panics
    /// When a row is not below [`Self::len`].
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "the rows are the caller's promise")]
    pub fn select(&self, rows: &[u32]) -> Self {
        Self {
            values: self.values.select(rows),
            record_keys: self.record_keys.as_ref().map(|keys| keys.select(rows)),
            timestamps: rows.iter().map(|&row| self.timestamps[row as usize]).collect(),
            headers: self.headers.as_ref().map(|headers| headers.select(rows)),
            origins: self.origins.select(rows),
            routing: self.routing.as_ref().map(|routing| Routing {
                keys: routing.keys.select(rows),
                hashes: rows.iter().map(|&row| routing.hashes[row as usize]).collect(),
            }),
            fields: self.fields.iter().map(|field| field.select(rows)).collect(),
        }
    }

    /// Whether every column has as many rows as there are values: invariants 1 and 2.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let rows = self.len();
        self.timestamps.len() == rows
            && self.origins.len() == rows
            && self.record_keys.as_ref().is_none_or(|keys| keys.len() == rows)
            && self.routing.as_ref().is_none_or(|routing| routing.keys.len() == rows && routing.hashes.len() == rows)
            && self.fields.iter().all(|field| field.len() == rows)
    }
}
