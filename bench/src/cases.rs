//! The cases, and what each is to reach.

use serde::{Deserialize, Serialize};

use crate::input::InputKind;

/// An input and the work done on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// What the command line calls it.
    pub(crate) name: &'static str,
    /// What is done, for a person.
    pub(crate) title: &'static str,
    /// What is read.
    pub(crate) input: InputKind,
    /// What is done with it.
    pub(crate) work: Work,
    /// Where the output goes while times are taken.
    pub(crate) target_sink: SinkKind,
    /// Who does it.
    pub(crate) variants: &'static [Variant],
    /// How many times the records of other cases it has, where the command line names no number.
    pub(crate) times_records: u64,
    /// What it is to reach.
    pub(crate) targets: &'static [Target],
}

/// What is done with a record. Every variant does exactly this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    /// Every record goes on as it is.
    Pass,
    /// Every record goes on with its first 16 bytes in capitals.
    MapBinary,
    /// A record goes on if its last byte is a letter.
    FilterBinary,
    /// An order goes on if its `amount` is above 500.
    FilterJson,
    /// Of an order `event_id` and `amount` go on, as a new JSON object.
    MapJson,
    /// An order goes on if its `event_id` was not seen before.
    Dedup,
    /// Every word of a line comes out with the number of times it was seen.
    Words,
}

/// Where output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SinkKind {
    /// It is counted and forgotten.
    Count,
    /// It is counted and goes into a checksum that does not depend on its order.
    Checksum,
    /// Lines of a file.
    File,
}

/// Who does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Variant {
    /// The engine with a sandboxed function: fuel on, batches of up to 4096 rows.
    Guest,
    /// The engine with the same function in Rust.
    Native,
    /// A bare loop.
    Raw,
    /// As `Guest`, without counting fuel.
    FuelOff,
    /// As `Guest`, with batches of so many rows.
    Batch(u32),
    /// As `Guest`, with epochs of so many milliseconds and an exactly-once file sink.
    Epochs(u32),
    /// As `Native`, likewise.
    NativeEpochs(u32),
}

impl Variant {
    /// Those of a case without epochs, the one the others are compared with first.
    pub(crate) const ALL: [Self; 7] =
        [Self::Guest, Self::Native, Self::Raw, Self::FuelOff, Self::Batch(1), Self::Batch(64), Self::Batch(1024)];

    /// Those of a case with epochs: the first two have none, and write a plain file.
    pub(crate) const WITH_EPOCHS: [Self; 7] = [
        Self::Guest,
        Self::Native,
        Self::Raw,
        Self::Epochs(1000),
        Self::Epochs(200),
        Self::NativeEpochs(1000),
        Self::NativeEpochs(200),
    ];

    /// How long its epochs are; `None`: it has none.
    pub(crate) fn epoch_millis(self) -> Option<u32> {
        match self {
            Self::Epochs(millis) | Self::NativeEpochs(millis) => Some(millis),
            _ => None,
        }
    }

    /// Whether its functions are in Rust.
    pub(crate) fn is_native(self) -> bool {
        matches!(self, Self::Native | Self::NativeEpochs(_))
    }

    /// What the command line calls it.
    pub(crate) fn key(self) -> String {
        match self {
            Self::Guest => "guest".to_owned(),
            Self::Native => "native".to_owned(),
            Self::Raw => "raw".to_owned(),
            Self::FuelOff => "fuel-off".to_owned(),
            Self::Batch(rows) => format!("batch-{rows}"),
            Self::Epochs(millis) => format!("epochs-{millis}"),
            Self::NativeEpochs(millis) => format!("native-epochs-{millis}"),
        }
    }

    /// What the report calls it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Guest => "guest (fuel on, batch 4096)".to_owned(),
            Self::Native => "native".to_owned(),
            Self::Raw => "raw loop".to_owned(),
            Self::FuelOff => "guest, fuel off".to_owned(),
            Self::Batch(rows) => format!("guest, batch {rows}"),
            Self::Epochs(millis) => format!("guest, epochs of {millis} ms"),
            Self::NativeEpochs(millis) => format!("native, epochs of {millis} ms"),
        }
    }
}

/// A figure and its bound.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// CPU-seconds the guest takes for a million records, at most.
    CpuPerMillion(f64),
    /// CPU-seconds the variant takes for a million records, at most.
    CpuPerMillionOf(Variant, f64),
    /// By how much of the second variant's throughput that of the first is less, by the clock, at most.
    Dip(Variant, Variant, f64),
    /// CPU time of the variant over that of the guest, at least.
    Ratio(Variant, f64),
    /// CPU time of copying the input once in memory, over that of the guest, at least.
    OfMemcpy(f64),
    /// Records per second of CPU time, at least.
    PerCore(f64),
    /// Peak memory grown during the run over the bytes of the live entries, at most.
    MemoryOverLive(f64),
}

const DEDUP_TARGETS: &[Target] = &[
    Target::Ratio(Variant::Native, 0.8),
    Target::Ratio(Variant::Raw, 0.8),
    Target::Ratio(Variant::FuelOff, 0.87),
    Target::CpuPerMillion(0.7),
    Target::PerCore(2_000_000.0),
    Target::MemoryOverLive(2.0),
];

const EPOCHS_TARGETS: &[Target] = &[
    Target::CpuPerMillionOf(Variant::Epochs(1000), 1.0),
    Target::CpuPerMillionOf(Variant::Epochs(200), 1.0),
    Target::Dip(Variant::Epochs(1000), Variant::Guest, 0.10),
    Target::Dip(Variant::Epochs(200), Variant::Guest, 0.10),
    Target::Dip(Variant::NativeEpochs(1000), Variant::Native, 0.10),
    Target::Dip(Variant::NativeEpochs(200), Variant::Native, 0.10),
];

const BINARY_TARGETS: &[Target] =
    &[Target::Ratio(Variant::Native, 0.5), Target::OfMemcpy(0.10), Target::CpuPerMillion(0.27)];

const JSON_TARGETS: &[Target] =
    &[Target::Ratio(Variant::Native, 0.85), Target::Ratio(Variant::Raw, 0.9), Target::CpuPerMillion(0.27)];

/// Those of a keyed count; here a record is twelve words, and each of them comes out again.
const WORDS_TARGETS: &[Target] = &[Target::Ratio(Variant::Native, 0.6), Target::Ratio(Variant::Raw, 0.4)];

/// Every case, in the order of the report.
pub(crate) const CASES: &[Case] = &[
    Case {
        name: "pass-binary",
        title: "pass, 100-byte lines",
        input: InputKind::Binary,
        work: Work::Pass,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: BINARY_TARGETS,
    },
    Case {
        name: "map-binary",
        title: "map, 100-byte lines",
        input: InputKind::Binary,
        work: Work::MapBinary,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: BINARY_TARGETS,
    },
    Case {
        name: "filter-binary",
        title: "filter, 100-byte lines",
        input: InputKind::Binary,
        work: Work::FilterBinary,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: BINARY_TARGETS,
    },
    Case {
        name: "filter-json",
        title: "filter on one field, 170-byte JSON",
        input: InputKind::Orders36,
        work: Work::FilterJson,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: JSON_TARGETS,
    },
    Case {
        name: "map-json",
        title: "two fields in, two out, 170-byte JSON",
        input: InputKind::Orders36,
        work: Work::MapJson,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: JSON_TARGETS,
    },
    Case {
        name: "dedup-16",
        title: "dedup, 16-byte keys, 20 % repeats, 170-byte JSON",
        input: InputKind::Orders16,
        work: Work::Dedup,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: DEDUP_TARGETS,
    },
    Case {
        name: "dedup-36",
        title: "dedup, 36-byte keys, 20 % repeats, 170-byte JSON",
        input: InputKind::Orders36,
        work: Work::Dedup,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: DEDUP_TARGETS,
    },
    Case {
        name: "dedup-36-file",
        title: "dedup, 36-byte keys, 20 % repeats, 170-byte JSON, to a file",
        input: InputKind::Orders36,
        work: Work::Dedup,
        target_sink: SinkKind::File,
        variants: &Variant::ALL,
        times_records: 1,
        targets: DEDUP_TARGETS,
    },
    Case {
        name: "epochs",
        title: "dedup, 36-byte keys, to a plain file, and with checkpoints to an exactly-once file sink",
        input: InputKind::Orders36,
        work: Work::Dedup,
        target_sink: SinkKind::File,
        variants: &Variant::WITH_EPOCHS,
        times_records: 5,
        targets: EPOCHS_TARGETS,
    },
    Case {
        name: "words",
        title: "word count, lines of 12 words",
        input: InputKind::Words,
        work: Work::Words,
        target_sink: SinkKind::Count,
        variants: &Variant::ALL,
        times_records: 1,
        targets: WORDS_TARGETS,
    },
];

/// The cases that keep state of so many bytes instead of reading an input.
pub(crate) const STATE_CASES: &[(&str, &str)] = &[
    ("checkpoint", "checkpoints of state in memory by size and churn, against sort, encode, write"),
    ("recovery", "a job with state starts again, against reading its files and building a table"),
    ("rescale", "the same at 1, 2 and 4 subtasks, each from what the one before left"),
];
