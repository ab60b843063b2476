//! Random numbers of the operating system.

use std::fs::File;
use std::io::Read;

use contract::Randomness;

use crate::report::CliError;

/// What the system draws.
#[derive(Debug)]
pub(crate) struct SystemRandomness(File);

impl SystemRandomness {
    /// # Errors
    /// When the system has no source of random numbers.
    pub(crate) fn open() -> Result<Self, CliError> {
        let file = File::open("/dev/urandom");
        Ok(Self(file.map_err(|error| CliError::failed(format!("open the system's random numbers: {error}")))?))
    }
}

impl Randomness for SystemRandomness {
    fn draw(&self) -> u64 {
        let mut bytes = [0; 8];
        (&self.0).read_exact(&mut bytes).expect("the device gives bytes without end to whoever has it open");
        u64::from_le_bytes(bytes)
    }
}
