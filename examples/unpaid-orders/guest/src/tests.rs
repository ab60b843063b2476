use tidegate::testing::{Harness, Record};

use super::UnpaidOrders;

const MINUTE: i64 = 60_000;

fn event(order: &str, kind: &str, minute: i64) -> Record {
    let text = format!(r#"{{"order":"{order}","kind":"{kind}","customer":"ada","amount":9.5}}"#);
    Record::json(&text).key(order).event_time(minute * MINUTE)
}

fn unpaid() -> Harness<UnpaidOrders> {
    Harness::new().config(r#"{"patience_minutes": 30}"#)
}

#[test]
fn an_order_that_is_not_paid_in_time_is_told_once_when_it_is_due() {
    let mut unpaid = unpaid();
    unpaid.run([event("a", "ordered", 0), event("b", "ordered", 1), event("b", "paid", 20)]);
    assert!(unpaid.advance_watermark(30 * MINUTE - 1).main().is_empty());
    let run = unpaid.advance_watermark(30 * MINUTE);
    let [alert] = run.main() else { panic!("one alert") };
    assert_eq!((alert.field::<String>("order").as_str(), alert.field::<f64>("amount")), ("a", 9.5));
    assert!(unpaid.end_input().main().is_empty());
}

#[test]
fn a_payment_that_is_too_late_changes_nothing_whether_the_alert_was_sent_or_not() {
    for alert_first in [false, true] {
        let mut unpaid = unpaid();
        unpaid.run([event("a", "ordered", 0)]);
        let before = if alert_first { unpaid.advance_watermark(31 * MINUTE).main().len() } else { 0 };
        unpaid.run([event("a", "paid", 31)]);
        assert_eq!(before + unpaid.end_input().main().len(), 1, "alert first: {alert_first}");
    }
}

#[test]
fn a_payment_that_is_read_before_its_order_counts() {
    let mut unpaid = unpaid();
    unpaid.run_every_way([event("a", "paid", 2), event("a", "ordered", 0)]);
    assert!(unpaid.timers("a").is_empty() && unpaid.end_input().main().is_empty());
}
