//! Any bytes are read or refused: none panic, and none cost memory that they do not have themselves.

use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use contract::{ObjectHandle, ObjectNumber};

use crate::{frame, pieces};

/// An object of pieces with this body, all of whose checksums fit.
fn sealed(magic: [u8; 4], version: u16, body: &[u8]) -> (ObjectHandle, Vec<u8>) {
    let mut bytes = magic.to_vec();
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
    let handle =
        ObjectHandle { name: "state/1".to_owned(), length_bytes: bytes.len() as u64, checksum: xxh3_64(&bytes) };
    (handle, bytes)
}

proptest! {
    #[test]
    fn any_body_of_an_object_is_its_pieces_or_refused(body in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..80)) {
        let (handle, bytes) = sealed(*b"TGSO", 1, &body);
        if let Ok(pieces) = pieces::decode(&handle, &bytes) {
            let held: usize = pieces.iter().map(|it| it.len()).sum();
            prop_assert_eq!(held + pieces.len() * 8 + 4, body.len());
        }
    }

    #[test]
    fn any_bytes_are_an_object_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let length_bytes = bytes.len() as u64;
        let handle = ObjectHandle { name: "state/1".to_owned(), length_bytes, checksum: xxh3_64(&bytes) };
        prop_assert!(pieces::decode(&handle, &bytes).is_err());
        prop_assert!(frame::decode(ObjectNumber(1), &bytes).is_err());
    }

    #[test]
    fn any_body_of_a_frame_is_an_object_of_the_log_or_refused(body in prop::collection::vec(any::<u8>(), 0..80)) {
        let (_, bytes) = sealed(*b"TGCO", 1, &body);
        if let Ok(object) = frame::decode(ObjectNumber(1), &bytes) {
            prop_assert_eq!(object.body.len() + 24, body.len());
        }
    }
}
