use super::SystemClock;

#[test]
fn the_clock_of_the_machine_keeps_the_promises_of_a_clock() {
    contract::compliance::clock::check(&SystemClock::new());
}
