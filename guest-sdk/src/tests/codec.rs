//! Short cuts write and read what serde would.

use std::fmt::Debug;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{MapKey, Schema, Timestamp};

fn check<T: Schema + Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let mut short = Vec::new();
    value.encode(&mut short).unwrap();
    assert_eq!(short, rmp_serde::to_vec_named(&value).unwrap(), "{value:?}");
    assert_eq!(T::decode(&short).unwrap(), value);
    assert_eq!(rmp_serde::from_slice::<T>(&short).unwrap(), value);
}

/// Reading as another type does what serde does.
fn check_as<To: Schema + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    let short = To::decode(bytes).ok();
    let long = rmp_serde::from_slice::<To>(bytes).ok();
    assert_eq!(short, long, "{bytes:?} as {}", std::any::type_name::<To>());
}

fn check_keys<K: MapKey + Ord + Debug>(one: K, two: K) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    one.append(&mut first);
    two.append(&mut second);
    assert_eq!(one.cmp(&two), first.cmp(&second), "{one:?} {two:?}");
    assert_eq!(K::read(&first).unwrap(), one);
}

proptest! {
    #[test]
    fn integers_are_written_as_serde_writes_them(signed: i64, unsigned: u64, small: i8, byte: u8, word: u32) {
        check(signed);
        check(unsigned);
        check(small);
        check(byte);
        check(word);
        check(i64::from(small));
        check(u64::from(byte));
        check(Timestamp::from_millis(signed));
    }

    #[test]
    fn other_primitives_are_written_as_serde_writes_them(wide: f64, narrow: f32, truth: bool, text: String) {
        prop_assume!(!wide.is_nan() && !narrow.is_nan());
        check(wide);
        check(narrow);
        check(truth);
        check(text);
    }

    #[test]
    fn any_bytes_read_as_serde_reads_them(bytes in proptest::collection::vec(any::<u8>(), 1..12)) {
        check_as::<bool>(&bytes);
        check_as::<u8>(&bytes);
        check_as::<i32>(&bytes);
        check_as::<i64>(&bytes);
        check_as::<u64>(&bytes);
    }

    #[test]
    fn numbers_read_as_other_numbers_as_serde_reads_them(signed: i64, unsigned: u64, float: f64) {
        prop_assume!(!float.is_nan());
        for bytes in [rmp_serde::to_vec(&signed), rmp_serde::to_vec(&unsigned), rmp_serde::to_vec(&float)] {
            let bytes = bytes.unwrap();
            check_as::<f64>(&bytes);
            check_as::<f32>(&bytes);
            check_as::<i64>(&bytes);
            check_as::<u16>(&bytes);
        }
    }

    #[test]
    fn entry_keys_sort_as_the_keys_do(signed: (i64, i64), small: (i16, i16), unsigned: (u64, u64), text: (String, String)) {
        check_keys(signed.0, signed.1);
        check_keys(small.0, small.1);
        check_keys(unsigned.0, unsigned.1);
        check_keys(text.0.clone(), text.1.clone());
        check_keys(text.0.into_bytes(), text.1.into_bytes());
    }
}

#[test]
fn a_value_of_another_type_says_what_was_expected_and_what_stands_there() {
    let mut bytes = Vec::new();
    "seven".to_owned().encode(&mut bytes).unwrap();
    let error = i64::decode(&bytes).unwrap_err().to_string();
    assert_eq!(error, "the stored value is not a `i64`: it starts with Some(FixStr(5))");
}
