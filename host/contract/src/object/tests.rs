use std::sync::Arc;

use model::{Blame, Retry};

use super::{OBJECT_BYTES, gather_objects};
use crate::Error;

fn segments(mib: &[usize]) -> Vec<Result<Arc<Vec<u8>>, Error>> {
    mib.iter().map(|mib| Ok(Arc::new(vec![0; mib << 20]))).collect()
}

#[test]
fn objects_are_full_but_the_last_and_nothing_is_lost() {
    let gathered = gather_objects(segments(&[20, 20, 40, 1, 2]).into_iter());
    let lengths: Vec<Vec<usize>> =
        gathered.map(|pieces| pieces.unwrap().iter().map(|piece| piece.len() >> 20).collect()).collect();
    assert_eq!(lengths, [vec![20, 20], vec![40], vec![1, 2]]);
    assert_eq!(OBJECT_BYTES >> 20, 32);
}

#[test]
fn no_segments_make_no_object_and_an_error_is_passed_on() {
    assert!(gather_objects(std::iter::empty()).next().is_none());
    let broken = Error::new(Blame::External, Retry::No, "the disk is gone");
    let error = gather_objects(std::iter::once(Err(broken))).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the disk is gone");
}
