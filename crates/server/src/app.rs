//! State shared by all requests.

use std::net::IpAddr;

use tokio::sync::watch;

use crate::{config::Config, database::Databases, heads::Heads, metrics::Metrics, rate_limit::RateLimiter};

/// Joins and unknown tokens from one address: one per six seconds in the long run.
const ADDRESS_RATE: (f64, f64) = (1.0 / 6.0, 20.0);

/// Seconds' worth of requests that a device may send at once.
const DEVICE_BURST_SECONDS: u32 = 10;

/// State shared by all requests.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) databases: Databases,
    pub(crate) heads: Heads,
    pub(crate) metrics: Metrics,
    pub(crate) device_limit: RateLimiter<[u8; 32]>,
    pub(crate) address_limit: RateLimiter<IpAddr>,
    pub(crate) behind_proxy: bool,
    /// True once the server shuts down: waiting requests answer at once.
    pub(crate) is_ending: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(config: &Config, databases: Databases, is_ending: watch::Receiver<bool>) -> Self {
        let per_second = config.requests_per_second;
        Self {
            databases,
            heads: Heads::default(),
            metrics: Metrics::default(),
            device_limit: RateLimiter::new(
                f64::from(per_second),
                f64::from(per_second.saturating_mul(DEVICE_BURST_SECONDS)),
            ),
            address_limit: RateLimiter::new(ADDRESS_RATE.0, ADDRESS_RATE.1),
            behind_proxy: config.behind_proxy,
            is_ending,
        }
    }
}
