//! From settings to somebody who can be asked: the provider, its key, its prices, and the user's day.

use std::{fs, path::Path};

use backstory_distill::{Anthropic, ApiKey, ClaudeCli, Endpoint, OpenAi, Price, Provider, price};
use backstory_model::Timestamp;
use backstory_store::TokenBudget;
use jiff::{Zoned, tz::TimeZone};

use crate::{
    environment, process,
    settings::{self, Distill, Settings},
};

/// A model that can be asked, and what may be spent on it.
#[derive(Debug)]
pub struct Model {
    /// Who answers.
    pub provider: Box<dyn Provider>,
    /// The provider's name in the ledger.
    pub provider_name: &'static str,
    /// The model's name in the ledger.
    pub name: String,
    /// What a pause is noted under: the same provider at another address may be well.
    pub place: String,
    /// How many calls may run at once.
    pub concurrency: usize,
    /// The most tokens of a turn that are shown.
    pub max_input_tokens: usize,
    price: Option<Price>,
    daily_tokens: u64,
    session_tokens: u64,
    /// Where days are counted.
    pub zone: TimeZone,
}

impl Model {
    /// Returns the model that the settings name; `None` when the rules do all.
    pub fn from_settings(settings: &Settings) -> Option<Self> {
        let distill = &settings.distill;
        let (provider, name): (Box<dyn Provider>, String) = match distill.provider {
            settings::ProviderName::Builtin => return None,
            settings::ProviderName::ClaudeCli => {
                let name = distill
                    .model
                    .clone()
                    .unwrap_or_else(|| ClaudeCli::MODEL.to_owned());
                (
                    Box::new(ClaudeCli::new(name.clone(), Box::new(process::run_claude))),
                    name,
                )
            }
            settings::ProviderName::Anthropic => {
                let endpoint = endpoint(distill, Anthropic::ADDRESS, Anthropic::MODEL);
                let name = endpoint.model.clone();
                (Box::new(Anthropic::new(endpoint)), name)
            }
            settings::ProviderName::Openai => {
                let usual = if distill.base_url.is_some() {
                    ""
                } else {
                    OpenAi::MODEL
                };
                let endpoint = endpoint(distill, OpenAi::ADDRESS, usual);
                let name = endpoint.model.clone();
                (Box::new(OpenAi::new(endpoint)), name)
            }
        };
        // A subscription pays for `claude`: what its tokens would cost elsewhere says nothing, unless the user says so.
        let price = match distill.provider {
            settings::ProviderName::ClaudeCli if price(&name, &distill.prices) == price(&name, &[]) => None,
            _ => price(&name, &distill.prices),
        };
        Some(Self {
            provider,
            provider_name: distill.provider.name(),
            place: provider_id(distill),
            name,
            concurrency: usize::from(distill.concurrency),
            max_input_tokens: distill.max_input_tokens as usize,
            price,
            daily_tokens: u64::from(distill.daily_tokens),
            session_tokens: u64::from(distill.session_tokens),
            zone: zone(settings),
        })
    }

    /// Returns what may be spent at a moment.
    pub fn budget(&self, now: Timestamp) -> TokenBudget {
        TokenBudget {
            day_start: start_of_day(now, &self.zone),
            daily_tokens: self.daily_tokens,
            session_tokens: self.session_tokens,
        }
    }

    /// Returns what tokens cost, in millionths of a dollar, where anybody knows.
    pub fn cost(&self, tokens_in: u64, tokens_out: u64) -> Option<u64> {
        Some(self.price.as_ref()?.cost(tokens_in, tokens_out))
    }

    /// Returns the name that memories keep of their distiller.
    pub fn distiller(&self) -> String {
        format!("{}/{}", self.provider_name, self.name)
    }
}

/// Returns the variables that the worker needs to reach the model which the settings name, besides the usual ones.
pub fn variables(distill: &Distill) -> Vec<String> {
    const PROXIES: [&str; 8] = [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ];
    let own: Vec<&str> = match distill.provider {
        settings::ProviderName::Builtin => return Vec::new(),
        settings::ProviderName::ClaudeCli => environment::FOR_CLAUDE.to_vec(),
        settings::ProviderName::Anthropic | settings::ProviderName::Openai => vec![key_variable(distill)],
    };
    own.into_iter().chain(PROXIES).map(ToOwned::to_owned).collect()
}

/// Returns when the day began that a moment belongs to.
pub fn start_of_day(now: Timestamp, zone: &TimeZone) -> Timestamp {
    let start = zoned(now, zone).and_then(|now| now.start_of_day());
    start.map_or(now, |day| {
        Timestamp::from_millis(day.timestamp().as_millisecond())
    })
}

/// Returns the time zone in which days are counted.
pub fn zone(settings: &Settings) -> TimeZone {
    let named = settings.ui.timezone.as_deref();
    named
        .and_then(|name| TimeZone::get(name).ok())
        .unwrap_or_else(TimeZone::system)
}

fn zoned(now: Timestamp, zone: &TimeZone) -> Result<Zoned, jiff::Error> {
    Ok(jiff::Timestamp::from_millisecond(now.as_millis())?.to_zoned(zone.clone()))
}

fn endpoint(distill: &Distill, address: &str, model: &str) -> Endpoint {
    let base_url = distill.base_url.clone().unwrap_or_else(|| address.to_owned());
    Endpoint {
        proxy: environment::proxy(&base_url),
        model: distill.model.clone().unwrap_or_else(|| model.to_owned()),
        key: key(distill),
        base_url,
    }
}

/// Reads the key. A file wins: the worker's environment is that of whoever happened to start it.
fn key(distill: &Distill) -> Option<ApiKey> {
    let from_file = distill.api_key_file.as_deref().and_then(|path| {
        let path = match (path.strip_prefix("~/"), environment::user_home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => Path::new(path).to_owned(),
        };
        ApiKey::new(&fs::read_to_string(path).ok()?)
    });
    from_file.or_else(|| ApiKey::new(&environment::text(key_variable(distill))?))
}

fn key_variable(distill: &Distill) -> &str {
    let usual = match distill.provider {
        settings::ProviderName::Openai => "OPENAI_API_KEY",
        _ => "ANTHROPIC_API_KEY",
    };
    distill.api_key_env.as_deref().unwrap_or(usual)
}

/// A provider and the host it is reached at, if that is not its own. An address may hold a password: only the host is kept.
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
    fn a_day_is_the_users_day() {
        let noon = Timestamp::from_millis(1_763_208_000_000); // 2025-11-15T12:00:00Z
        let zone = |name: &str| TimeZone::get(name).unwrap();
        let hours = |name: &str| noon.since(start_of_day(noon, &zone(name))).as_secs() / 3_600;
        assert_eq!(hours("UTC"), 12);
        assert_eq!(hours("Europe/Berlin"), 13);
        assert_eq!(hours("Pacific/Auckland"), 1);
    }

    #[test]
    fn a_password_in_an_address_is_not_kept() {
        let mut distill = Settings::default().distill;
        distill.provider = settings::ProviderName::Openai;
        assert_eq!(provider_id(&distill), "openai");
        distill.base_url = Some("https://me:secret@example.org:8080/v1?x=y".to_owned());
        assert_eq!(provider_id(&distill), "openai at example.org:8080");
    }
}
