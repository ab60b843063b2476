use contract::doubles::ManualClock;
use model::HostTime;

use super::*;

fn parting(patience: Duration) -> Parting {
    Parting::new(Arc::new(ManualClock::new(HostTime(0))), patience)
}

#[test]
fn a_thread_that_returns_is_waited_for_and_one_that_does_not_is_left_behind() {
    let quick = Hand::start("quick".to_owned(), || {}).unwrap();
    assert!(quick.part(&parting(Duration::from_secs(60))));
    let (returns, never) = channel::<()>();
    let (told, hears) = channel();
    let hanging = Hand::start("hanging".to_owned(), move || {
        never.recv().ok();
        told.send("it went on").ok();
    });
    assert!(!hanging.unwrap().part(&parting(Duration::from_millis(1))));
    drop(returns);
    assert_eq!(hears.recv(), Ok("it went on"), "it is not broken off");
}

#[test]
fn patience_is_for_all_together() {
    let clock = Arc::new(ManualClock::new(HostTime(0)));
    let parting = Parting::new(Arc::clone(&clock) as Arc<dyn Clock>, Duration::from_secs(10));
    assert_eq!(parting.left(), Duration::from_secs(10));
    clock.advance(Duration::from_secs(7));
    assert_eq!(parting.left(), Duration::from_secs(3));
    clock.advance(Duration::from_secs(7));
    assert_eq!(parting.left(), Duration::ZERO);
}
