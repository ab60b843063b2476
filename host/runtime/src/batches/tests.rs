use std::sync::Arc;

use model::{
    Cells, Column, EventTime, FieldColumn, Headers, OptionalColumn, Origins, Position, RecordBatch, Routing, SourceId,
    Span, SplitIndex, Values,
};
use proptest::prelude::*;

use super::{chunks, compact, concatenate, gather, rows_without};

/// A batch with every kind of column, different in every row.
fn batch(first: u64, rows: u64) -> RecordBatch {
    let numbers = || first..first + rows;
    let mut values = OptionalColumn::default();
    let mut keys = OptionalColumn::default();
    let mut origins = Origins::default();
    let mut headers = Headers::default();
    let mut field = FieldColumn { present: Vec::new(), cells: Cells::Integers(Vec::new()) };
    for (row, number) in (0u32..).zip(numbers()) {
        values.push((number % 5 != 4).then(|| format!("value {number}")).as_deref().map(str::as_bytes));
        keys.push((number % 3 != 0).then(|| format!("key {number}")).as_deref().map(str::as_bytes));
        origins.push(SourceId(0), SplitIndex(u32::try_from(number / 7).unwrap()), Position(number));
        if number % 2 == 0 {
            headers.owners.push(row);
            headers.names.push(format!("header {number}").as_bytes());
            headers.values.push(None);
        }
        if number % 4 == 0 {
            field.push_absent();
        } else if let Cells::Integers(cells) = &mut field.cells {
            cells.push(i64::try_from(number).unwrap());
            field.mark_present();
        }
    }
    RecordBatch {
        values: Values::from(values),
        record_keys: Some(keys),
        timestamps: numbers().map(|number| EventTime(i64::try_from(number).unwrap())).collect(),
        headers: Some(headers),
        origins,
        routing: Some(Routing {
            keys: numbers().map(|number| format!("partition {number}")).collect::<Column>(),
            hashes: numbers().collect(),
        }),
        fields: vec![field],
    }
}

/// Everything that a row holds, for comparing.
fn rows_of(batch: &RecordBatch) -> Vec<String> {
    assert!(batch.is_consistent());
    let routing = batch.routing.as_ref().unwrap();
    let row = |row: usize| {
        let field = &batch.fields[0];
        let cell = match &field.cells {
            Cells::Integers(cells) => field.is_present(row).then(|| cells[row]),
            other => panic!("{other:?}"),
        };
        let headers: Vec<_> =
            batch.headers.iter().flat_map(|headers| headers.of_row(u32::try_from(row).unwrap())).collect();
        format!(
            "{:?} {:?} {:?} {headers:?} {:?} {:?} {} {cell:?}",
            batch.values.get(row),
            batch.record_keys.as_ref().unwrap().get(row),
            batch.timestamps[row],
            batch.origins.get(row),
            routing.keys.get(row),
            routing.hashes[row],
        )
    };
    (0..batch.len()).map(row).collect()
}

proptest! {
    #[test]
    fn what_is_put_together_is_what_there_was(sizes in prop::collection::vec(0u64..20, 1..6)) {
        let mut first = 0;
        let pieces: Vec<RecordBatch> = sizes.iter().map(|&rows| {
            let piece = batch(first, rows);
            first += rows;
            piece
        }).collect();
        let expected: Vec<String> = pieces.iter().flat_map(rows_of).collect();
        prop_assert_eq!(rows_of(&concatenate(pieces)), expected);
    }

    #[test]
    fn gathering_picks_the_rows_named(picks in prop::collection::vec((0u32..3, 0u32..10), 0..30)) {
        let pieces = [batch(0, 10), batch(10, 10), batch(20, 10)];
        let expected: Vec<String> =
            picks.iter().map(|&(piece, row)| rows_of(&pieces[piece as usize])[row as usize].clone()).collect();
        prop_assert_eq!(rows_of(&gather(&pieces, &picks)), expected);
    }

    #[test]
    fn chunks_keep_every_row_and_both_limits(rows in 0u64..200, max_rows in 1usize..50, max_bytes in 1usize..400) {
        let whole = batch(0, rows);
        let expected = rows_of(&whole);
        let chunks = chunks(whole, max_rows, max_bytes);
        let kept: Vec<String> = chunks.iter().flat_map(rows_of).collect();
        prop_assert_eq!(kept, expected);
        for chunk in &chunks {
            prop_assert!(chunk.len() <= max_rows);
            let is_small = chunk.values.total_bytes() <= 2 * max_bytes.max(9);
            prop_assert!(is_small || chunk.len() == 1, "{} bytes", chunk.values.total_bytes());
        }
    }

    #[test]
    fn rows_without_some_are_the_others(without in prop::collection::btree_set(0u32..60, 0..60)) {
        let without: Vec<u32> = without.into_iter().collect();
        let expected: Vec<u32> = (0..60).filter(|row| !without.contains(row)).collect();
        prop_assert_eq!(rows_without(60, &without), expected);
    }
}

#[test]
fn a_sparse_batch_lets_its_arena_go_and_a_dense_one_keeps_it() {
    let arena = Arc::new(vec![b'x'; 100_000]);
    let of_rows = |rows: u32| {
        let spans = (0..rows).map(|row| Span { start: row * 100, end: row * 100 + 100 }).collect();
        RecordBatch { values: Values::new(Arc::clone(&arena), spans), ..RecordBatch::default() }
    };
    let sparse = compact(of_rows(10));
    assert_eq!((sparse.values.arena().len(), sparse.values.total_bytes()), (1_000, 1_000));
    assert!(Arc::ptr_eq(compact(of_rows(500)).values.arena(), &arena));
}

#[test]
fn a_row_repeated_in_a_piece_reserves_no_memory_for_what_is_not_copied() {
    let large: Column = ["x".repeat(64 << 20)].iter().collect();
    let row = RecordBatch { values: Values::from(large), ..batch(0, 1) };
    // 128 TiB, were each a copy: no system gives that much, even on the word alone.
    let values = row.values.select(&vec![0; 1 << 21]);
    let gathered = gather(&[RecordBatch { values, ..row }], &[(0, 0)]);
    assert_eq!(gathered.values.get(0).map(<[u8]>::len), Some(64 << 20));
}
