//! Owns the question which instructions this processor has.

use std::sync::OnceLock;

/// Sets of instructions that kernels are written for, each with all of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Portable,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with byte and word operations and the dot products of VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512 that counts bits too (VPOPCNTDQ).
    #[cfg(target_arch = "x86_64")]
    Avx512Count,
}

/// A level that this processor has been seen to offer.
///
/// There is no other way to get one, which is what makes it sound to call the kernels of that level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Isa(Level);

impl Isa {
    /// Looks the best one up; the processor is asked once.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        Self(*BEST.get_or_init(detect))
    }

    /// Lists all that can run here.
    #[cfg(test)]
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        let levels = [
            Level::Portable,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Count,
        ];
        levels.into_iter().map(Self).filter(|isa| *isa <= Self::best())
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
        Level::Portable
    } else if !is_x86_feature_detected!("avx512f")
        || !is_x86_feature_detected!("avx512bw")
        || !is_x86_feature_detected!("avx512vl")
        || !is_x86_feature_detected!("avx512vnni")
    {
        Level::Avx2
    } else if is_x86_feature_detected!("avx512vpopcntdq") {
        Level::Avx512Count
    } else {
        Level::Avx512
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Portable
}
