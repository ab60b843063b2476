//! What is left of a child whose code cannot be read.

use super::*;

#[test]
fn a_child_whose_code_cannot_be_read_is_ended() {
    // It copies its input, which does not end, to an output that nobody can read.
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let error = code_of(&mut child, &CompileLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), "the child has no standard output");
    let status = child.try_wait().unwrap().expect("it was waited for");
    assert!(!status.success(), "{status}");
}
