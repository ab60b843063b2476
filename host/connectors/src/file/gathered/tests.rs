use std::io::Read;

use proptest::prelude::*;

use super::*;

/// A file that takes so many bytes of each write, and none in between.
struct Narrow<'a> {
    file: Vec<u8>,
    takes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Write for Narrow<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match *self.takes.next().expect("it goes round") {
            0 => Err(io::ErrorKind::StorageFull.into()),
            takes => {
                let taken = takes.min(bytes.len());
                self.file.extend_from_slice(&bytes[..taken]);
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_byte_is_written_once_however_often_there_is_no_room(
        rounds in proptest::collection::vec("[a-z]{0,40}", 1..8),
        mut takes in proptest::collection::vec(0usize..20, 1..9),
        packed: bool,
        cuts: bool,
    ) {
        takes.push(7);
        let compression = if packed { SinkCompression::Gzip } else { SinkCompression::None };
        let mut gathered = Gathered::new(compression);
        let mut narrow = Narrow { file: Vec::new(), takes: takes.iter().cycle() };
        let mut whole = Vec::new();
        for round in &rounds {
            gathered.lines().extend_from_slice(round.as_bytes());
            // A failed attempt in between changes nothing.
            gathered.write_to(&mut narrow, |piece| whole.extend_from_slice(piece)).ok();
            if cuts {
                narrow.file.truncate(whole.len());
                gathered.begin_piece_again();
            }
        }
        // Where it is cut back after each error, a piece needs to get through at once.
        if cuts {
            narrow.takes = [usize::MAX].iter().cycle();
        }
        while gathered.write_to(&mut narrow, |piece| whole.extend_from_slice(piece)).is_err() {}
        prop_assert_eq!(&whole, &narrow.file);
        let mut text = String::new();
        match compression {
            SinkCompression::None => text = String::from_utf8(whole).expect("letters"),
            SinkCompression::Gzip if whole.is_empty() => {}
            SinkCompression::Gzip => {
                let read = flate2::read::MultiGzDecoder::new(whole.as_slice()).read_to_string(&mut text);
                prop_assert!(read.is_ok());
            }
        }
        prop_assert_eq!(text, rounds.concat());
    }
}
