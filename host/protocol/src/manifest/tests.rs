use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Serialize;

use model::{Generation, JobName, LineageId};

use super::samples::{any_record, claim, full};
use super::{Claim, Error, FORMAT_VERSION, LogRecord, decode, encode};

/// Set to write the samples anew instead of comparing them.
const BLESS: &str = "TIDEGATE_BLESS";

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name)
}

#[track_caller]
fn check_sample(name: &str, record: &LogRecord) {
    let path = sample(name);
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, encode(record)).unwrap();
    }
    let kept = std::fs::read(&path).unwrap_or_default();
    assert_eq!(&decode(&kept).unwrap(), record, "{name} reads as something else");
    assert_eq!(kept, encode(record), "{name} is written otherwise: a new format needs a new version and a new sample");
}

#[test]
fn records_of_version_1_are_read_for_ever() {
    check_sample("manifest-v1.bin", &LogRecord::Complete(Box::new(full())));
    check_sample("claim-v1.bin", &claim(12, 0xfeed));
}

#[test]
fn a_newer_version_is_refused_as_newer() {
    let mut bytes = encode(&claim(1, 1));
    bytes[..2].copy_from_slice(&(FORMAT_VERSION + 1).to_be_bytes());
    assert!(matches!(decode(&bytes), Err(Error::Newer { found }) if found == FORMAT_VERSION + 1));
}

#[test]
fn a_field_that_is_not_known_is_passed_over() {
    #[derive(Serialize)]
    struct LaterClaim {
        mood: Vec<Option<&'static str>>,
        #[serde(flatten)]
        claim: Claim,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Later {
        Claim(LaterClaim),
    }
    let LogRecord::Claim(claim) = claim(3, 9) else { unreachable!() };
    let later = Later::Claim(LaterClaim { mood: vec![None, Some("good")], claim: claim.clone() });
    let mut bytes = FORMAT_VERSION.to_be_bytes().to_vec();
    bytes.extend(rmp_serde::to_vec_named(&later).unwrap());
    assert_eq!(decode(&bytes).unwrap(), LogRecord::Claim(claim));
}

#[test]
fn bytes_without_a_version_and_bytes_after_a_record_are_refused() {
    for start in [&[][..], &[0], &[0, 0, 1]] {
        assert!(matches!(decode(start), Err(Error::NoVersion { .. })), "{start:?}");
    }
    let mut bytes = encode(&claim(1, 1));
    bytes.push(0xc0);
    assert!(matches!(decode(&bytes), Err(Error::Trailing { trailing_bytes: 1, .. })));
}

#[test]
fn a_name_that_is_not_allowed_is_refused() {
    let bytes = encode(&claim(1, 1));
    let place = bytes.windows(6).position(|window| window == b"orders").unwrap();
    let mut bad = bytes.clone();
    bad[place] = b'/';
    assert!(matches!(decode(&bad), Err(Error::Malformed { .. })));
}

#[test]
fn a_record_names_its_job_and_generation() {
    for record in [claim(12, 0xfeed), LogRecord::Complete(Box::new(full()))] {
        assert_eq!(record.generation(), Generation(12));
        assert_eq!(record.job(), &JobName::new("orders").unwrap());
    }
    assert_eq!(full().lineage, LineageId(0xfeed));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(record in any_record()) {
        prop_assert_eq!(decode(&encode(&record)).unwrap(), record);
    }

    #[test]
    fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), versioned in any::<bool>()) {
        if versioned {
            bytes.splice(0..0, FORMAT_VERSION.to_be_bytes());
        }
        if let Ok(record) = decode(&bytes) {
            prop_assert_eq!(decode(&encode(&record)).unwrap(), record);
        }
    }

    #[test]
    fn no_damage_panics(
        record in any_record(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&record);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1).max(2));
        if let Ok(record) = decode(&bytes) {
            prop_assert_eq!(decode(&encode(&record)).unwrap(), record);
        }
    }

    #[test]
    fn a_record_cut_short_is_refused(record in any_record(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(&record);
        prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err());
    }
}
