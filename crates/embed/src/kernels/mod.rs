//! Arithmetic kernels: all loops that are compiled per instruction set, and all unsafe code.
//!
//! Knows nothing of the meaning of the numbers. Integer results are the same on every processor; floating-point ones
//! differ in the last digits.

#![cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(
        unsafe_code,
        reason = "vector instructions are chosen at run time, and their loads take pointers"
    )
)]

mod activations;
mod attention;
mod distance;
mod dot;
mod linear;
mod rows;

pub(crate) use activations::{Activations, Precision};
pub(crate) use attention::{Attention, attend};
pub(crate) use distance::{MAX_DISTANCE, SignQuery, bits, distances, positions_between};
pub(crate) use dot::{WordQuery, dots};
pub(crate) use linear::{Panel, linear};
pub(crate) use rows::{add_and_normalize, gelu};

/// Tokens are processed in groups of this size: buffers have space for full groups, and the padding is never read.
pub(crate) const TOKEN_GROUP: usize = 4;

/// Defines a function that is compiled for each [`SimdLevel`](crate::cpu::SimdLevel) from one portable body, and dispatches.
///
/// The body is an always-inlined function; its constant tells whether fused multiply-add is one instruction.
macro_rules! for_each_level {
    ($(#[$documentation:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) = $body:ident) => {
        $(#[$documentation])*
        pub(crate) fn $name(isa: $crate::cpu::Isa, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $type),*) {
                $body::<true>($($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512vl")]
            fn avx512($($argument: $type),*) {
                $body::<true>($($argument),*);
            }
            match isa.level() {
                $crate::cpu::SimdLevel::Portable => $body::<{ cfg!(target_arch = "aarch64") }>($($argument),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: an `Isa` of this level proves that the processor has AVX2 and FMA.
                $crate::cpu::SimdLevel::Avx2 => unsafe { avx2($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: an `Isa` of these levels proves that the processor has all that is enabled above.
                $crate::cpu::SimdLevel::Avx512 | $crate::cpu::SimdLevel::Avx512Count => unsafe { avx512($($argument),*) },
            }
        }
    };
}
use for_each_level;

/// Multiplies and adds, fused only where that is one instruction: elsewhere it would be a function call.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Adds up with sixteen accumulators, because one would be limited by latency.
#[inline(always)]
fn sum(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; 16];
    let (chunks, rest) = values.as_chunks::<16>();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += term(*value);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|value| term(*value)).sum::<f32>()
}

/// Computes e to the power of `x`, for x between -87 and 0, to about six digits.
#[inline(always)]
fn exponential<const FUSED: bool>(x: f32) -> f32 {
    /// Adding it leaves the nearest integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let power = x * std::f32::consts::LOG2_E;
    let rounded = power + ROUND;
    let rest = (power - (rounded - ROUND)) * std::f32::consts::LN_2;
    // Taylor series: the remainder is between -0.35 and 0.35.
    let mut series = 1.0 / 720.0;
    for factor in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        series = multiply_add::<FUSED>(series, rest, factor);
    }
    // A power of two consists of exponent bits only.
    series * f32::from_bits(rounded.to_bits().wrapping_add(127) << 23)
}
