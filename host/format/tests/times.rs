//! Event times in every unit, in JSON and CSV alike.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use format::{CsvFormat, Cut, CutKind, Decoder, Format, TimeUnit};
use model::{Cells, Column, Values};
use proptest::prelude::*;

/// The milliseconds a written time is read as; JSON and CSV must agree. `None` where it is a fault.
fn millis(unit: TimeUnit, written: &str) -> Option<i64> {
    let json =
        if unit == TimeUnit::Rfc3339 { format!("{{\"t\":\"{written}\"}}") } else { format!("{{\"t\":{written}}}") };
    let csv = Format::Csv(CsvFormat { delimiter: b';', columns: vec!["t".to_owned()] });
    let read = |format: &Format, value: &str| {
        let cuts = [Cut { path: "/t".to_owned(), kind: CutKind::Time(unit), required: true }];
        let decoded = Decoder::new(format, &cuts).unwrap().decode(&Values::from([value].iter().collect::<Column>()));
        let Cells::Integers(cells) = &decoded.columns[0].cells else { panic!("times are integers") };
        assert_eq!(decoded.faults.is_empty(), decoded.columns[0].is_present(0));
        decoded.columns[0].is_present(0).then(|| cells[0])
    };
    let (from_json, from_csv) = (read(&Format::Json, &json), read(&csv, written));
    assert_eq!(from_json, from_csv, "{written}");
    from_json
}

#[test]
fn units_are_rounded_down_to_milliseconds() {
    use TimeUnit::{Ms, Ns, S, Us};
    let cases = [
        (S, "1700000000", Some(1_700_000_000_000)),
        (S, "1700000000.1", Some(1_700_000_000_100)),
        (S, "1700000000.1239", Some(1_700_000_000_123)),
        (S, "-1.0001", Some(-1001)),
        (S, "-1.000", Some(-1000)),
        (S, "-0.5", Some(-500)),
        (S, "1e3", None),
        (S, "9223372036854775.807", Some(i64::MAX)),
        (S, "9223372036854775.808", None),
        (S, "-9223372036854775808", None),
        (Ms, "1700000000123", Some(1_700_000_000_123)),
        (Ms, "1700000000123.0", None),
        (Us, "1700000000123999", Some(1_700_000_000_123)),
        (Us, "-1", Some(-1)),
        (Ns, "1700000000123999999", Some(1_700_000_000_123)),
        (Ns, "-1000001", Some(-2)),
        (Ns, "9223372036854775808", None),
    ];
    for (unit, written, expected) in cases {
        assert_eq!(millis(unit, written), expected, "{unit:?} {written}");
    }
}

#[test]
fn rfc3339_is_read_by_the_letter() {
    let cases = [
        ("1970-01-01T00:00:00Z", Some(0)),
        ("2026-04-14T09:30:00.125Z", Some(1_776_159_000_125)),
        ("2026-04-14T11:30:00.1259+02:00", Some(1_776_159_000_125)),
        ("2026-04-14 04:00:00-05:30", Some(1_776_159_000_000)),
        ("2026-04-14t09:30:00z", Some(1_776_159_000_000)),
        ("1969-12-31T23:59:59.999Z", Some(-1)),
        ("2000-02-29T00:00:00Z", Some(951_782_400_000)),
        ("1900-02-29T00:00:00Z", None),
        ("2016-12-31T23:59:60Z", Some(1_483_228_800_000)),
        ("0000-01-01T00:00:00Z", Some(-62_167_219_200_000)),
        ("9999-12-31T23:59:59.999Z", Some(253_402_300_799_999)),
        ("2026-04-14T09:30:00", None),
        ("2026-04-14T09:30Z", None),
        ("2026-04-14", None),
        ("2026-04-14T24:00:00Z", None),
        ("2026-04-14T09:60:00Z", None),
        ("2026-04-14T09:30:61Z", None),
        ("2026-13-14T09:30:00Z", None),
        ("2026-00-14T09:30:00Z", None),
        ("2026-04-31T09:30:00Z", None),
        ("2026-04-00T09:30:00Z", None),
        ("2026-04-14T09:30:00.Z", None),
        ("2026-04-14T09:30:00+0200", None),
        ("2026-04-14T09:30:00+24:00", None),
        ("2026-04-14T09:30:00+02:60", None),
        ("2026-04-14T09:30:00Z ", None),
        ("26-04-14T09:30:00Z", None),
        ("+2026-04-14T09:30:00Z", None),
    ];
    for (written, expected) in cases {
        assert_eq!(millis(TimeUnit::Rfc3339, written), expected, "{written}");
    }
}

proptest! {
    #[test]
    fn every_day_follows_the_day_before_it(day in -719_528i64..2_932_896) {
        // Walks the calendar with its own rule for the length of months.
        let (mut year, mut month, mut left) = (0i64, 1i64, day + 719_528);
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        while left >= if leap(year) { 366 } else { 365 } {
            left -= if leap(year) { 366 } else { 365 };
            year += 1;
        }
        let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        while left >= lengths[usize::try_from(month - 1).unwrap()] {
            left -= lengths[usize::try_from(month - 1).unwrap()];
            month += 1;
        }
        let written = format!("{year:04}-{month:02}-{:02}T00:00:00Z", left + 1);
        prop_assert_eq!(millis(TimeUnit::Rfc3339, &written), Some(day * 86_400_000));
    }
}
