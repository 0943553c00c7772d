//! Checks the settings and the provider that they select.

use super::finding::{CheckContext, Finding};
use backstory_engine::{models, settings::ProviderName};
use backstory_store::{BusyTimeout, Store};

use crate::{command::stats, output};

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = context
        .problems
        .iter()
        .map(|problem| {
            Finding::broken("settings", problem)
                .remedy("`backstory config list` shows all keys and their values")
        })
        .collect();
    if findings.is_empty() {
        let path = context.engine.home.config();
        findings.push(match path.exists() {
            true => Finding::ok("settings", path.display().to_string()),
            false => Finding::ok("settings", "all defaults"),
        });
    }
    findings.push(provider(context));
    findings.extend(provider_errors(context));
    findings
}

/// Reports provider errors and a spent daily budget.
fn provider_errors(context: &CheckContext<'_>) -> Vec<Finding> {
    // The check of the database reports its errors.
    let Ok(store) = Store::open_read_only(&context.engine.home.database(), BusyTimeout::Command) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for backoff in store.provider_backoffs().unwrap_or_default() {
        let message = output::one_line(&backoff.message, 200);
        let finding = Finding::broken("model", format!("{}: {message}", backoff.provider));
        findings.push(match stats::remedy(&backoff.reason) {
            Some(remedy) => finding.remedy(remedy),
            None => finding.remedy("retried automatically; the built-in rules write the memories meanwhile"),
        });
    }
    let distill = &context.settings.distill;
    let day = models::start_of_day(context.engine.clock.timestamp(), &models::zone(&context.settings));
    let spent = store.tokens_since(day).unwrap_or_default();
    if distill.provider != ProviderName::Builtin && spent >= u64::from(distill.daily_tokens) {
        let spent = format!(
            "daily budget of {} tokens is spent",
            output::thousands(distill.daily_tokens.into())
        );
        findings.push(Finding::note(
            "budget",
            format!("{spent}: until tomorrow the built-in rules write the memories"),
        ));
    }
    findings
}

fn provider(context: &CheckContext<'_>) -> Finding {
    let distill = &context.settings.distill;
    let (name, usual) = match distill.provider {
        ProviderName::Builtin => {
            return Finding::ok("provider", "built-in rules: no model, no key, no network");
        }
        ProviderName::ClaudeCli => return claude_cli(context),
        ProviderName::Anthropic => ("anthropic", "ANTHROPIC_API_KEY"),
        ProviderName::Openai => ("openai", "OPENAI_API_KEY"),
    };
    let variable = distill.api_key_env.as_deref().unwrap_or(usual);
    if context.engine.environment.is_set(variable) {
        return Finding::ok("provider", format!("{name}, with the key in {variable}"));
    }
    // An endpoint on this machine usually needs no key.
    if distill.provider == ProviderName::Openai && distill.base_url.is_some() {
        return Finding::note(
            "provider",
            format!("{name} at your own address, without a key: {variable} is not set"),
        );
    }
    Finding::broken(
        "provider",
        format!("{name} needs a key, but {variable} is not set here"),
    )
    .remedy(format!(
        "export {variable} where your agent starts, or `backstory config set distill.provider builtin`"
    ))
}

fn claude_cli(context: &CheckContext<'_>) -> Finding {
    match context.engine.environment.find_program("claude") {
        Some(path) => Finding::ok("provider", format!("claude-cli, {}", path.display())),
        None => Finding::broken(
            "provider",
            "claude-cli is selected, but `claude` is not on the PATH",
        )
        .remedy("install Claude Code, or `backstory config set distill.provider builtin`"),
    }
}
