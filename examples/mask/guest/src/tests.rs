use tidegate::testing::{Harness, Record};

use super::{Mask, mask_address, mask_card};

fn order(email: &str) -> Record {
    Record::json(&format!(
        r#"{{"order":"o-1","customer":{{"name":"Ada","email":"{email}","country":"NO"}},"card":"4000111122223333","amount":12.5}}"#
    ))
}

#[test]
fn an_order_comes_out_masked_and_without_the_name() {
    let run = Harness::<Mask>::new().run([order("ada.lund7@example.com")]);
    let out = &run.main()[0];
    assert_eq!(out.field::<String>("email"), "a***@example.com");
    assert_eq!(out.field::<String>("card"), "****3333");
    assert_eq!(out.field::<f64>("amount"), 12.5);
}

#[test]
fn an_address_without_at_is_a_bad_record_and_the_next_order_goes_on() {
    let run = Harness::<Mask>::new().run([order("no-at.example.com"), order("b@example.org")]);
    assert_eq!(run.bad_records()[0].message(), "the address has no `@`: it is 17 bytes long");
    assert_eq!(run.main().len(), 1);
}

#[test]
fn addresses_of_any_script_are_cut_between_characters() {
    let masked = |address: &str| {
        let mut into = "what was there".to_owned();
        mask_address(address, &mut into).unwrap();
        into
    };
    assert_eq!(masked("åse@example.com"), "å***@example.com");
    assert_eq!(masked("@example.com"), "***@example.com");
}

#[test]
fn short_cards_and_zero_digits_are_fine() {
    let masked = |card: &str, keep_digits| {
        let mut into = "what was there".to_owned();
        mask_card(card, keep_digits, &mut into);
        into
    };
    assert_eq!(masked("12", 4), "****12");
    assert_eq!(masked("123456", 4), "****3456");
    assert_eq!(masked("123456", 0), "****");
    assert_eq!(masked("", 4), "****");
}
