//! Detects the vector instructions of the processor.

use std::sync::OnceLock;

/// Instruction sets that kernels are written for, each including those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SimdLevel {
    /// Baseline of the target.
    Portable,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with byte and word operations and the dot products of VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512 with bit counts (VPOPCNTDQ).
    #[cfg(target_arch = "x86_64")]
    Avx512Count,
}

/// Level that this processor was detected to support.
///
/// Only detection creates one, so calling the kernels of its level is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Isa(SimdLevel);

impl Isa {
    /// Returns the best level; detected once.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<SimdLevel> = OnceLock::new();
        Self(*BEST.get_or_init(detect))
    }

    /// Lists all levels that can run here.
    #[cfg(test)]
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        let levels = [
            SimdLevel::Portable,
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2,
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512,
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512Count,
        ];
        levels.into_iter().map(Self).filter(|isa| *isa <= Self::best())
    }

    pub(crate) fn level(self) -> SimdLevel {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> SimdLevel {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
        SimdLevel::Portable
    } else if !is_x86_feature_detected!("avx512f")
        || !is_x86_feature_detected!("avx512bw")
        || !is_x86_feature_detected!("avx512vl")
        || !is_x86_feature_detected!("avx512vnni")
    {
        SimdLevel::Avx2
    } else if is_x86_feature_detected!("avx512vpopcntdq") {
        SimdLevel::Avx512Count
    } else {
        SimdLevel::Avx512
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> SimdLevel {
    SimdLevel::Portable
}
