//! Request limits: one token bucket per device or address, in memory.
//!
//! Each server process counts for itself, so several behind a balancer allow as many times the rate. The limit keeps a
//! client that loops from taking the database away from others; it is no accounting.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Buckets above which full ones are dropped.
const MAX_BUCKETS: usize = 10_000;

/// Limits the rate of events per key.
#[derive(Debug)]
pub(crate) struct RateLimiter<K> {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

impl<K: Eq + Hash> RateLimiter<K> {
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self {
            per_second,
            burst,
            buckets: Mutex::default(),
        }
    }

    /// Takes a token, or returns the time until there is one.
    pub(crate) fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS {
            buckets.retain(|_, bucket| self.filled(bucket, now) < self.burst);
        }
        let bucket = buckets.entry(key).or_insert(Bucket {
            tokens: self.burst,
            filled_at: now,
        });
        let tokens = self.filled(bucket, now);
        bucket.filled_at = now;
        if tokens < 1.0 {
            bucket.tokens = tokens;
            return Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second));
        }
        bucket.tokens = tokens - 1.0;
        Ok(())
    }

    fn filled(&self, bucket: &Bucket, now: Instant) -> f64 {
        let elapsed = now.duration_since(bucket.filled_at).as_secs_f64();
        (bucket.tokens + elapsed * self.per_second).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let limiter = RateLimiter::new(2.0, 3.0);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(limiter.take(1, start), Ok(()));
        }
        assert_eq!(limiter.take(1, start), Err(Duration::from_millis(500)));
        assert_eq!(limiter.take(2, start), Ok(()));
        let later = start + Duration::from_millis(500);
        assert_eq!(limiter.take(1, later), Ok(()));
        assert!(limiter.take(1, later).is_err());
    }

    #[test]
    fn idle_keys_are_dropped() {
        let limiter = RateLimiter::new(1.0, 1.0);
        let start = Instant::now();
        for key in 0..MAX_BUCKETS {
            limiter.take(key, start).unwrap();
        }
        limiter.take(MAX_BUCKETS, start + Duration::from_secs(2)).unwrap();
        assert_eq!(limiter.buckets.lock().unwrap().len(), 1);
    }
}
