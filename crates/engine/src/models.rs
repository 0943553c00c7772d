//! Configured model: provider, API key, prices and token budget.

use std::{fs, path::Path, sync::atomic::AtomicBool};

use backstory_distill::{Anthropic, ApiKey, ClaudeCli, Endpoint, Invocation, OpenAi, Price, Provider, price};
use backstory_model::Timestamp;
use backstory_store::TokenBudget;
use jiff::{Zoned, tz::TimeZone};

use crate::{
    environment::{Environment, FOR_CLAUDE},
    process,
    settings::{self, Distill, Settings},
};

/// Model with its provider and its limits.
#[derive(Debug)]
pub struct Model {
    /// Client of the provider.
    pub provider: Box<dyn Provider>,
    /// Name of the provider in the ledger.
    pub provider_name: &'static str,
    /// Name of the model in the ledger.
    pub name: String,
    /// Key of the provider backoff: provider and address, because the same provider may work at another address.
    pub backoff_key: String,
    /// Maximum number of concurrent calls.
    pub concurrency: usize,
    /// Maximum number of tokens of a digest.
    pub max_input_tokens: usize,
    price: Option<Price>,
    daily_tokens: u64,
    session_tokens: u64,
    /// Time zone of the daily budget.
    pub zone: TimeZone,
}

impl Model {
    /// Returns the configured model; `None` if the built-in rules distill.
    pub fn from_settings(settings: &Settings, environment: &Environment) -> Option<Self> {
        let distill = &settings.distill;
        let (provider, name): (Box<dyn Provider>, String) = match distill.provider {
            settings::ProviderName::Builtin => return None,
            settings::ProviderName::ClaudeCli => {
                let name = distill
                    .model
                    .clone()
                    .unwrap_or_else(|| ClaudeCli::MODEL.to_owned());
                let environment = environment.clone();
                let run = move |invocation: &Invocation, stop: &AtomicBool| {
                    process::run_claude(&environment, invocation, stop)
                };
                (Box::new(ClaudeCli::new(name.clone(), Box::new(run))), name)
            }
            settings::ProviderName::Anthropic => {
                let endpoint = endpoint(distill, environment, Anthropic::ADDRESS, Anthropic::MODEL);
                let name = endpoint.model.clone();
                (Box::new(Anthropic::new(endpoint)), name)
            }
            settings::ProviderName::Openai => {
                let usual = if distill.base_url.is_some() {
                    ""
                } else {
                    OpenAi::MODEL
                };
                let endpoint = endpoint(distill, environment, OpenAi::ADDRESS, usual);
                let name = endpoint.model.clone();
                (Box::new(OpenAi::new(endpoint)), name)
            }
        };
        // `claude` is paid for by a subscription, so list prices do not apply unless the user sets them.
        let price = match distill.provider {
            settings::ProviderName::ClaudeCli if price(&name, &distill.prices) == price(&name, &[]) => None,
            _ => price(&name, &distill.prices),
        };
        Some(Self {
            provider,
            provider_name: distill.provider.name(),
            backoff_key: provider_id(distill),
            name,
            concurrency: usize::from(distill.concurrency),
            max_input_tokens: distill.max_input_tokens as usize,
            price,
            daily_tokens: u64::from(distill.daily_tokens),
            session_tokens: u64::from(distill.session_tokens),
            zone: zone(settings),
        })
    }

    /// Returns the token budget at a time.
    pub fn budget(&self, now: Timestamp) -> TokenBudget {
        TokenBudget {
            day_start: start_of_day(now, &self.zone),
            daily_tokens: self.daily_tokens,
            session_tokens: self.session_tokens,
        }
    }

    /// Returns the cost of tokens in millionths of a dollar; `None` if no price is known.
    pub fn cost(&self, tokens_in: u64, tokens_out: u64) -> Option<u64> {
        Some(self.price.as_ref()?.cost(tokens_in, tokens_out))
    }

    /// Returns the name of the distiller that is stored with a memory.
    pub fn distiller(&self) -> String {
        format!("{}/{}", self.provider_name, self.name)
    }
}

/// Variables that name proxies.
pub(crate) const PROXIES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Returns the names of the additional environment variables that the worker needs to reach the configured model.
pub fn variables(distill: &Distill) -> Vec<String> {
    let own: Vec<&str> = match distill.provider {
        settings::ProviderName::Builtin => return Vec::new(),
        settings::ProviderName::ClaudeCli => FOR_CLAUDE.to_vec(),
        settings::ProviderName::Anthropic | settings::ProviderName::Openai => vec![key_variable(distill)],
    };
    own.into_iter().chain(PROXIES).map(ToOwned::to_owned).collect()
}

/// Returns the start of the day that contains a time.
pub fn start_of_day(now: Timestamp, zone: &TimeZone) -> Timestamp {
    let start = zoned(now, zone).and_then(|now| now.start_of_day());
    start.map_or(now, |day| {
        Timestamp::from_millis(day.timestamp().as_millisecond())
    })
}

/// Returns the time zone of the settings, or of the system.
pub fn zone(settings: &Settings) -> TimeZone {
    let named = settings.ui.timezone.as_deref();
    named
        .and_then(|name| TimeZone::get(name).ok())
        .unwrap_or_else(TimeZone::system)
}

fn zoned(now: Timestamp, zone: &TimeZone) -> Result<Zoned, jiff::Error> {
    Ok(jiff::Timestamp::from_millisecond(now.as_millis())?.to_zoned(zone.clone()))
}

fn endpoint(distill: &Distill, environment: &Environment, address: &str, model: &str) -> Endpoint {
    let base_url = distill.base_url.clone().unwrap_or_else(|| address.to_owned());
    Endpoint {
        proxy: environment.proxy(&base_url),
        model: distill.model.clone().unwrap_or_else(|| model.to_owned()),
        key: key(distill, environment),
        base_url,
    }
}

/// Reads the API key. A file takes precedence, because the environment of the worker depends on the process that started it.
fn key(distill: &Distill, environment: &Environment) -> Option<ApiKey> {
    let from_file = distill.api_key_file.as_deref().and_then(|path| {
        let path = match (path.strip_prefix("~/"), environment.user_home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => Path::new(path).to_owned(),
        };
        ApiKey::new(&fs::read_to_string(path).ok()?)
    });
    from_file.or_else(|| ApiKey::new(&environment.text(key_variable(distill))?))
}

fn key_variable(distill: &Distill) -> &str {
    let usual = match distill.provider {
        settings::ProviderName::Openai => "OPENAI_API_KEY",
        _ => "ANTHROPIC_API_KEY",
    };
    distill.api_key_env.as_deref().unwrap_or(usual)
}

/// Returns the name of the provider, with the host if a custom address is set. The rest of the address may contain a password.
fn provider_id(distill: &Distill) -> String {
    let name = distill.provider.name();
    let Some(url) = distill.base_url.as_deref() else {
        return name.to_owned();
    };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    format!("{name} at {}", host.rsplit('@').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_starts_at_midnight_in_the_time_zone() {
        let noon = Timestamp::from_millis(1_763_208_000_000); // 2025-11-15T12:00:00Z
        let zone = |name: &str| TimeZone::get(name).unwrap();
        let hours = |name: &str| noon.since(start_of_day(noon, &zone(name))).as_secs() / 3_600;
        assert_eq!(hours("UTC"), 12);
        assert_eq!(hours("Europe/Berlin"), 13);
        assert_eq!(hours("Pacific/Auckland"), 1);
    }

    #[test]
    fn the_provider_id_omits_a_password_in_the_address() {
        let mut distill = Settings::default().distill;
        distill.provider = settings::ProviderName::Openai;
        assert_eq!(provider_id(&distill), "openai");
        distill.base_url = Some("https://me:secret@example.org:8080/v1?x=y".to_owned());
        assert_eq!(provider_id(&distill), "openai at example.org:8080");
    }
}
