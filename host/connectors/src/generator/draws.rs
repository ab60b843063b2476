//! Numbers that look random and are a function of seed and record number.

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014; constants of variant 13): a bijection.
#[inline]
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The odd constant nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// How many numbers a record may draw: lanes of different records never meet.
const LANES: u64 = 64;
const LANE_REPEATS: u64 = LANES - 1;
const LANE_REPEATED: u64 = LANES - 2;

/// A number from 0 to below `bound`, each as likely, from a drawn one.
#[inline]
pub(super) fn below(drawn: u64, bound: u64) -> u64 {
    ((u128::from(drawn) * u128::from(bound)) >> 64) as u64
}

/// The draws of one seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    key: u64,
    /// A draw below it makes a record a repeat.
    repeats_below: u64,
}

impl Draws {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 0 to 1 of 2^64; the conversion saturates"
    )]
    pub(super) fn new(seed: u64, duplicates_share: f64) -> Self {
        const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
        Self { key: mix(seed.wrapping_add(GAMMA)), repeats_below: (duplicates_share * TWO_TO_64) as u64 }
    }

    /// Draw `lane` (below 62) of record `n`.
    #[inline]
    pub(super) fn draw(&self, n: u64, lane: u64) -> u64 {
        mix(self.key.wrapping_add(n.wrapping_mul(LANES).wrapping_add(lane).wrapping_mul(GAMMA)))
    }

    /// The record that `n` repeats, or `n`.
    #[inline]
    pub(super) fn original(&self, n: u64) -> u64 {
        let mut n = n;
        while n > 0 && self.repeats_below > 0 && self.draw(n, LANE_REPEATS) < self.repeats_below {
            n = below(self.draw(n, LANE_REPEATED), n);
        }
        n
    }
}

/// Keys from 0 to below `count`, that of rank `r` about as likely as `r^-exponent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerLaw {
    count: u64,
    curve: Curve,
}

#[derive(Clone, Copy, Debug)]
enum Curve {
    Flat,
    /// Exponent 1: ranks are spread evenly over the logarithm.
    Logarithm {
        log2_end: f64,
    },
    Power {
        /// `(count + 1)^(1 - exponent) - 1`.
        rise: f64,
        /// `1 / (1 - exponent)`.
        root: f64,
    },
}

impl PowerLaw {
    #[expect(clippy::cast_precision_loss, reason = "a distribution needs no exact count")]
    pub(super) fn new(count: u64, exponent: f64) -> Self {
        let end = count as f64 + 1.0;
        let curve = if exponent < 1e-9 {
            Curve::Flat
        } else if (exponent - 1.0).abs() < 1e-9 {
            Curve::Logarithm { log2_end: log2(end) }
        } else {
            let left = 1.0 - exponent;
            Curve::Power { rise: exp2(left * log2(end)) - 1.0, root: 1.0 / left }
        };
        Self { count, curve }
    }

    /// The key of a drawn number.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank of 1 to count, clamped below"
    )]
    pub(super) fn key(&self, drawn: u64) -> u64 {
        const TWO_TO_MINUS_53: f64 = 1.0 / 9_007_199_254_740_992.0;
        let share = (drawn >> 11) as f64 * TWO_TO_MINUS_53;
        let rank = match self.curve {
            Curve::Flat => return below(drawn, self.count),
            Curve::Logarithm { log2_end } => exp2(share * log2_end),
            Curve::Power { rise, root } => exp2(root * log2(share * rise + 1.0)),
        };
        (rank as u64).saturating_sub(1).min(self.count - 1)
    }
}

/// The binary logarithm of a positive number, to about 12 digits, the same on every machine.
#[expect(clippy::cast_precision_loss, reason = "an exponent is small")]
fn log2(x: f64) -> f64 {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: i64 = 1023;
    let bits = x.to_bits();
    let mut exponent = (bits >> MANTISSA_BITS) as i64 - BIAS;
    let mut mantissa = f64::from_bits((bits & ((1 << MANTISSA_BITS) - 1)) | ((BIAS as u64) << MANTISSA_BITS));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1))
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = [1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];
    let sum = series.iter().fold(0.0, |sum, term| sum * square + term);
    exponent as f64 + 2.0 * s * sum * std::f64::consts::LOG2_E
}

/// Two to the power of `x`, to about 12 digits, the same on every machine.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the argument is far inside the exponents of a double"
)]
fn exp2(x: f64) -> f64 {
    const MANTISSA_BITS: u32 = 52;
    const BIAS: i64 = 1023;
    let whole = x.round();
    let t = (x - whole) * std::f64::consts::LN_2;
    // e^t for |t| below 0.35, innermost term first: 1 + t/1 (1 + t/2 (1 + t/3 (…)))
    let power = (1..=12u32).rev().fold(1.0, |inner, term| 1.0 + t / f64::from(term) * inner);
    let exponent = (whole as i64).clamp(-BIAS + 1, BIAS);
    power * f64::from_bits(((exponent + BIAS) as u64) << MANTISSA_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_power_agree_with_the_library() {
        for x in [1e-6, 0.3, 1.0, 1.41, 1.42, 2.0, 3.7, 1e6, 1e12] {
            assert!((log2(x) - f64::log2(x)).abs() < 1e-9, "log2({x}) = {}", log2(x));
        }
        for x in [-20.0, -0.5, 0.0, 0.49, 0.5, 1.0, 19.93, 40.0] {
            assert!((exp2(x) / f64::exp2(x) - 1.0).abs() < 1e-11, "exp2({x}) = {}", exp2(x));
        }
    }

    #[test]
    fn low_ranks_are_as_likely_as_the_power_law_says() {
        for (exponent, first, tenth) in [(0.0, 0.001, 0.001), (0.8, 0.0499, 0.01023), (1.0, 0.1003, 0.01380)] {
            let (draws, law) = (Draws::new(7, 0.0), PowerLaw::new(1000, exponent));
            let mut seen = vec![0u32; 1000];
            for n in 0..200_000 {
                seen[usize::try_from(law.key(draws.draw(n, 0))).expect("a key")] += 1;
            }
            for (rank, share) in [(0, first), (9, tenth)] {
                let found = f64::from(seen[rank]) / 200_000.0;
                assert!((found / share - 1.0).abs() < 0.15, "exponent {exponent}, rank {rank}: {found}, not {share}");
            }
        }
    }

    #[test]
    fn keys_stay_below_their_count() {
        for exponent in [0.0, 0.5, 1.0, 1.5, 5.0] {
            for count in [1, 2, 1_000_000_000_000] {
                let law = PowerLaw::new(count, exponent);
                assert!([0, 1, u64::MAX / 2, u64::MAX].iter().all(|&drawn| law.key(drawn) < count));
            }
        }
    }
}
