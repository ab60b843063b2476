//! Every record goes on with its first 16 bytes in capitals.

use tidegate::prelude::*;

/// Bytes written in capitals.
const CAPITALS: usize = 16;

/// Copies every value in and out.
#[tidegate::function]
pub struct MapBinary {
    #[scratch]
    made: Vec<u8>,
}

impl Unkeyed for MapBinary {
    type In = Bytes;
    type Out = Bytes;

    fn on_record(&mut self, value: &[u8], cx: &mut Context<Self>) -> Result {
        self.made.clear();
        self.made.extend_from_slice(value);
        self.made.iter_mut().take(CAPITALS).for_each(|byte| byte.make_ascii_uppercase());
        cx.emit(&self.made);
        Ok(())
    }
}
