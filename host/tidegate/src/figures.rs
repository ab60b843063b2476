//! Figures as a person reads them: rates, shares, counts, sizes, times. Pure.

use std::time::Duration;

use model::Delivery;
use runtime::{JobSnapshot, OperatorSnapshot};

/// What an operator did between two looks at a job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rates {
    /// Records per second that reached it.
    pub(crate) records_in: f64,
    /// Records per second that left it.
    pub(crate) records_out: f64,
    /// Share of the time its subtasks worked, 0 to 1.
    pub(crate) busy: f64,
    /// Share of the time its subtasks waited for a full queue, 0 to 1.
    pub(crate) backpressured: f64,
}

/// The rates between two snapshots of an operator; from the start where there is no earlier one.
pub(crate) fn rates(
    earlier: Option<(&JobSnapshot, &OperatorSnapshot)>,
    later: (&JobSnapshot, &OperatorSnapshot),
) -> Rates {
    let (job, operator) = later;
    let zero = Duration::ZERO;
    let (since, records_in, records_out, busy, backpressured) = match earlier {
        Some((job, operator)) => {
            (job.uptime, operator.records_in, operator.records_out, operator.busy, operator.backpressured)
        }
        None => (zero, 0, 0, zero, zero),
    };
    let seconds = job.uptime.saturating_sub(since).as_secs_f64().max(1e-9);
    let subtask_seconds = seconds * f64::from(operator.parallelism.0.max(1));
    let share =
        |now: Duration, before: Duration| (now.saturating_sub(before).as_secs_f64() / subtask_seconds).clamp(0.0, 1.0);
    Rates {
        records_in: as_f64(operator.records_in.saturating_sub(records_in)) / seconds,
        records_out: as_f64(operator.records_out.saturating_sub(records_out)) / seconds,
        busy: share(operator.busy, busy),
        backpressured: share(operator.backpressured, backpressured),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for a person; counts beyond 2^53 may lose their last digit")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// `1234567` as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate as `1.23 M/s`, `45.6 k/s`, `789 /s`.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second >= 1e6 {
        format!("{:.2} M/s", per_second / 1e6)
    } else if per_second >= 1e4 {
        format!("{:.1} k/s", per_second / 1e3)
    } else {
        format!("{per_second:.0} /s")
    }
}

/// Bytes as `3.4 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().iec().to_string()
}

/// Milliseconds since 1970 as `2024-05-01T12:00:00.250Z`; `None` for a time that is not known, or that no
/// calendar reaches.
pub(crate) fn time_text(millis: i64) -> Option<String> {
    // The last moment of the year 9999.
    const LAST: i64 = 253_402_300_799_999;
    let millis = u64::try_from(millis).ok().filter(|_| millis <= LAST)?;
    let time = std::time::UNIX_EPOCH + Duration::from_millis(millis);
    Some(humantime::format_rfc3339_millis(time).to_string())
}

/// A stretch of time as a person says it: `3 min`, `250 ms`.
pub(crate) fn stretch(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds @ 1..=99 => format!("{seconds} s"),
        seconds @ 100..=5_999 => format!("{} min", seconds / 60),
        seconds @ 6_000..=172_799 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// What a sink promises, as its guarantee is written everywhere.
pub(crate) fn delivery(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::AtLeastOnce => "at-least-once",
        Delivery::Idempotent => "idempotent",
        Delivery::ExactlyOnce => "exactly-once",
    }
}

/// A share as `37 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What an operator counted besides records, as `duplicates 1,234, dead letters 2`; empty if nothing.
pub(crate) fn notes(operator: &OperatorSnapshot) -> String {
    let mut notes: Vec<String> = operator
        .counters
        .iter()
        .chain(&operator.gauges)
        .map(|(name, value)| format!("{name} {}", number(*value)))
        .collect();
    let totals = [("dead letters", operator.dead_letters), ("skipped", operator.skipped)];
    notes
        .extend(totals.iter().filter(|(_, total)| *total > 0).map(|(name, total)| format!("{name} {}", count(*total))));
    notes.extend(operator.faults.iter().map(|(reason, total)| format!("{reason} {}", count(*total))));
    if operator.log_lines_dropped > 0 {
        notes.push(format!("log lines dropped {}", count(operator.log_lines_dropped)));
    }
    notes.join(", ")
}

/// A counter or gauge: whole numbers without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be whole, positive and below 2^53"
)]
fn number(value: f64) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && (0.0..EXACT).contains(&value) { count(value as u64) } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{count, number, rate, size, stretch, time_text};

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([0, 12, 999, 1000, 1_234_567].map(count), ["0", "12", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn rates_change_their_unit() {
        assert_eq!([0.4, 999.6, 12_345.0, 2_500_000.0].map(rate), ["0 /s", "1000 /s", "12.3 k/s", "2.50 M/s"]);
    }

    #[test]
    fn times_are_written_as_people_write_them() {
        assert_eq!(time_text(1_700_000_000_250).as_deref(), Some("2023-11-14T22:13:20.250Z"));
        assert_eq!([i64::MIN, -1, i64::MAX].map(time_text), [None, None, None]);
        let said = [0, 250, 1_500, 180_000, 7_200_000, 259_200_000].map(|it| stretch(Duration::from_millis(it)));
        assert_eq!(said, ["0 ms", "250 ms", "1 s", "3 min", "2 h", "3 days"]);
    }

    #[test]
    fn sizes_change_their_unit() {
        assert_eq!([0, 2048, 5 << 20].map(size), ["0 B", "2.0 KiB", "5.0 MiB"]);
    }

    #[test]
    fn numbers_show_a_fraction_only_if_they_have_one() {
        assert_eq!([1500.0, 0.25, -3.0].map(number), ["1,500", "0.250", "-3.000"]);
    }
}
