//! Operations on single tokens: layer normalization and the activation function.

use super::{exponential, for_each_level, multiply_add, sum};
use crate::weights::{Norm, WIDTH};

for_each_level! {
    /// Adds `change` to `tokens`, then normalizes each token to mean 0 and deviation 1 and applies gain and bias.
    fn add_and_normalize(tokens: &mut [f32], change: &[f32], norm: &Norm) = add_and_normalize_body
}

#[inline(always)]
fn add_and_normalize_body<const FUSED: bool>(tokens: &mut [f32], change: &[f32], norm: &Norm) {
    let (tokens, _) = tokens.as_chunks_mut::<WIDTH>();
    let (change, _) = change.as_chunks::<WIDTH>();
    for (token, change) in tokens.iter_mut().zip(change) {
        for (value, change) in token.iter_mut().zip(change) {
            *value += change;
        }
        let mean = sum(token, |value| value) / WIDTH as f32;
        let variance = sum(token, |value| (value - mean) * (value - mean)) / WIDTH as f32;
        let factor = 1.0 / (variance + 1e-12).sqrt();
        for (value, (gain, bias)) in token.iter_mut().zip(norm.gain.iter().zip(norm.bias)) {
            let gain = f32::from_le_bytes(*gain) * factor;
            *value = multiply_add::<FUSED>(*value - mean, gain, f32::from_le_bytes(*bias));
        }
    }
}

for_each_level! {
    /// Applies the Gaussian error linear unit to each number.
    fn gelu(values: &mut [f32]) = gelu_body
}

#[inline(always)]
fn gelu_body<const FUSED: bool>(values: &mut [f32]) {
    for value in values {
        *value = gelu_of::<FUSED>(*value);
    }
}

/// Computes GELU with the error function of Abramowitz and Stegun, 7.1.26, accurate to 1.5e-7.
#[inline(always)]
fn gelu_of<const FUSED: bool>(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    // Beyond nine the tail is zero in single precision; `exponential` goes down to -87 only.
    let z = if z < 9.0 { z } else { 9.0 };
    let t = 1.0 / multiply_add::<FUSED>(0.327_591_1, z, 1.0);
    let mut series = 1.061_405_4;
    for factor in [-1.453_152_1, 1.421_413_8, -0.284_496_74, 0.254_829_6] {
        series = multiply_add::<FUSED>(series, t, factor);
    }
    let error = 1.0 - series * t * exponential::<FUSED>(-z * z);
    0.5 * x * (1.0 + error.copysign(x))
}
