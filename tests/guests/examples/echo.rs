//! Sends every record on.

struct Echo;

impl testkit::Behaviour for Echo {}

testkit::export!(Echo);
