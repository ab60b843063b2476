//! Plain; the test gives it a table that is too large.

use testkit::*;

struct TableBomb;

impl Behaviour for TableBomb {}

export!(TableBomb);
