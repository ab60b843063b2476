//! `lying_columns` passes columns whose parts do not fit.

use contract::{Emit, FailureKind};
use model::Cells;

use crate::kit::*;

#[test]
fn a_column_whose_parts_do_not_fit_is_refused() {
    for (lie, part) in [
        ("ends-fall", "values: ends fall at item 1"),
        ("ends-beyond", "values: the last end is 4294967295, the bytes are 3 long"),
        ("bytes-left-over", "values: the last end is 2, the bytes are 3 long"),
        ("present-short", "values: present has 2 items, ends has 3"),
        ("present-two", "values: item 1 is marked 2"),
        ("absent-with-bytes", "values: item 1 is marked 0 but has 1 bytes"),
        ("too-few", "values has 2 items, expected 3"),
        ("too-many", "values has 4 items, expected 3"),
        ("keys-short", "keys has 1 items, expected 3"),
        ("timestamps-long", "timestamps has 4 items, expected 3"),
        ("neither", "neither values nor fields"),
        ("both", "both values and fields"),
        ("header-owner", "header owners 3 at 0"),
        ("store-short", "values has 1 items, expected 2"),
    ] {
        check_failure(run_keyed("lying_columns", &[lie]), FailureKind::Contract, &[part]);
    }
}

#[test]
fn a_field_that_is_not_what_the_port_declares_is_refused() {
    for (lie, part) in [
        ("fields-few", "fields has 3 items, expected 4"),
        ("cells-kind", "field `name` is of kind text, found cells of integers"),
        ("cells-short", "cells has 1 items, expected 3"),
        ("boolean-two", "mark 2 at 2 of a boolean field"),
        ("absent-text", "field `name` of record 1 is not empty, though absent"),
        ("field-present-long", "present has 9 items, expected 3"),
    ] {
        check_failure(run_keyed("lying_columns", &[lie]), FailureKind::Contract, &["emit.push", part]);
    }
}

#[test]
fn honest_columns_pass() {
    let turn = run_keyed("lying_columns", &["honest"]).unwrap();
    let Some(Emit::Push { records, .. }) = turn.staged.emits.first() else { panic!("it pushes") };
    assert_eq!(records.fields.get(1).map(|field| &field.cells), Some(&Cells::Integers(vec![1, 2, 3])));
}
