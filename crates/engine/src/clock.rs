//! The clock: wall time for what is stored, monotonic time for what has to wait.
//!
//! The only place that asks the operating system for the time. The binary creates [`Clock::system`] and passes it on; tests
//! pass the clock of a [`ManualClock`], which stands still until it is advanced.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use backstory_model::Timestamp;

/// Source of the current time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System {
        started: Instant,
    },
    /// Milliseconds since 1970.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// Returns the clock of the operating system.
    pub fn system() -> Self {
        Self(Source::System {
            started: Instant::now(),
        })
    }

    /// Returns the wall time.
    pub fn now(&self) -> SystemTime {
        match &self.0 {
            Source::System { .. } =>
            {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "this is the only place that asks for the time"
                )]
                SystemTime::now()
            }
            Source::Manual(ms) => SystemTime::UNIX_EPOCH + Duration::from_millis(ms.load(Ordering::Relaxed)),
        }
    }

    /// Returns the time since 1970. A wall clock set to an earlier date counts as 1970.
    pub fn since_1970(&self) -> Duration {
        self.now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
    }

    /// Returns the wall time as the store keeps it.
    pub fn timestamp(&self) -> Timestamp {
        self.now().into()
    }

    /// Returns a time that never goes backwards, for measuring how long ago something happened. Its origin is arbitrary.
    pub fn monotonic(&self) -> Duration {
        match &self.0 {
            Source::System { started } => started.elapsed(),
            Source::Manual(ms) => Duration::from_millis(ms.load(Ordering::Relaxed)),
        }
    }

    /// Returns how long to sleep until the clock should be read again, if `rest` is the time that is left to wait. A manual
    /// clock does not run while the caller sleeps, so it has to be polled.
    pub fn poll_interval(&self, rest: Duration) -> Duration {
        match &self.0 {
            Source::System { .. } => rest,
            Source::Manual(_) => rest.min(Duration::from_millis(2)),
        }
    }
}

/// Clock for tests.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Returns a clock that stands at a time, in milliseconds since 1970.
    pub fn at_ms(ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(ms)))
    }

    /// Returns a [`Clock`] that shows the time of this one.
    pub fn clock(&self) -> Clock {
        Clock(Source::Manual(Arc::clone(&self.0)))
    }

    /// Moves the time forward.
    pub fn advance(&self, by: Duration) {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}
