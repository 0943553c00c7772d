//! Checks the hosts: that their settings call our hooks.
//!
//! Covers the hosts that `install` has set up, according to its receipt, and always Claude Code: its hooks may have been
//! added by hand or by the plugin.

use std::path::Path;

use backstory_capture::host::{HOSTS, HostSpec};
use backstory_engine::error::error_chain;
use backstory_system::{HOME_VARIABLE, is_program};
use serde_json::Value;

use super::finding::{CheckContext, Finding};
use crate::{
    command::install::{
        inspect::{self, Content, HostFile, State},
        paths, warnings,
    },
    receipt::Receipt,
    version,
};

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let receipt = Receipt::read(&context.engine.home).unwrap_or_else(|error| {
        let remedy = "move it away, then run `backstory install` again";
        findings.push(Finding::warning("installed", error_chain(&error)).remedy(remedy));
        Receipt::default()
    });
    let present = paths::present();
    let is_by_hand = |host: &HostSpec| {
        host.name == "claude-code" && present.iter().any(|present| present.name == host.name)
    };
    for host in HOSTS {
        if receipt.hosts.contains_key(host.name) || is_by_hand(host) {
            findings.extend(of_host(context, &receipt, host));
        }
    }
    findings
}

fn of_host(context: &CheckContext<'_>, receipt: &Receipt, host: &'static HostSpec) -> Vec<Finding> {
    let title = host.title;
    let files = match inspect::inspect(receipt, host) {
        Ok(files) => files,
        Err(error) => {
            return vec![
                Finding::broken(host.name, error_chain(&error)).remedy(format!("set {HOME_VARIABLE}")),
            ];
        }
    };
    let managed = warnings::of_managed_settings(host).into_iter().map(|message| {
        Finding::broken(host.name, message).remedy("memories come from `backstory import` and MCP until then")
    });
    let problems = files.iter().filter_map(|file| problem(receipt, host, file));
    let problems: Vec<Finding> = managed.chain(problems).collect();
    if !problems.is_empty() {
        return problems;
    }
    let understood: Vec<(&HostFile, &Content)> = files
        .iter()
        .filter_map(|file| match &file.state {
            State::Read(content) => Some((file, content)),
            _ => None,
        })
        .collect();
    let calling: Vec<String> = understood
        .iter()
        .filter(|(file, content)| file.is_noted || !content.programs.is_empty())
        .map(|(file, _)| paths::shown(&file.path))
        .collect();
    vec![
        if understood.iter().any(|(_, content)| has_plugin(&content.value)) {
            match version::of_plugin(&context.engine.environment) {
                Some(mismatch) => {
                    Finding::warning(host.name, mismatch.message(&format!("{title}: the plugin")))
                        .remedy(mismatch.remedy)
                }
                None => Finding::ok(host.name, format!("{title}: the plugin is on")),
            }
        } else if calling.is_empty() {
            Finding::note(host.name, format!("{title}: hooks are not installed")).remedy(install(host))
        } else {
            Finding::ok(host.name, format!("{title}: set up in {}", calling.join(", ")))
        },
    ]
}

/// Returns the reason why the entries of a file are not called.
fn problem(receipt: &Receipt, host: &'static HostSpec, file: &HostFile) -> Option<Finding> {
    let (title, shown) = (host.title, paths::shown(&file.path));
    let content = match &file.state {
        State::Gone if file.is_noted => {
            let message = format!("{title}: {shown} was installed and is missing");
            return Some(Finding::warning("installed", message).remedy(install(host)));
        }
        State::Odd {
            why,
            names_us,
            is_commented,
        } if file.is_noted || *names_us => {
            let message = format!("{title}: could not parse {shown}: {why}");
            return Some(Finding::broken(host.name, message).remedy(match is_commented {
                true => "fix the file manually: remove comments and trailing commas",
                false => "fix the error in the file manually",
            }));
        }
        State::Gone | State::Odd { .. } => return None,
        State::Read(content) => content,
    };
    let is_used = file.is_noted || has_plugin(&content.value) || !content.programs.is_empty();
    if content.value["disableAllHooks"] == true && is_used {
        let message = format!("{title}: {shown} sets disableAllHooks");
        let remedy = "remove that setting: nothing is recorded while it is set";
        return Some(Finding::broken(host.name, message).remedy(remedy));
    }
    if let Some(lost) = content
        .programs
        .iter()
        .find(|program| is_missing_program(program))
    {
        let message = format!("{title}: {shown} calls {lost}, which cannot be run");
        return Some(Finding::broken(host.name, message).remedy(install(host)));
    }
    let holds_none = content.programs.is_empty();
    if has_plugin(&content.value) && holds_none {
        // The plugin's hooks do nothing while the receipt names hooks in the settings.
        return receipt.hosts.contains_key(host.name).then(|| {
            let message =
                format!("{title}: the plugin is inactive because of hooks that are missing in {shown}");
            let remedy = format!("`backstory uninstall {0}`, or `{1}`", host.name, install(host));
            Finding::broken(host.name, message).remedy(remedy)
        });
    }
    if content.missing.is_empty() || (holds_none && !file.is_noted) {
        return None;
    }
    let missing = content.missing.join(", ");
    let message = format!("{title}: {shown} has no backstory hooks for {missing}");
    Some(Finding::warning(host.name, message).remedy(install(host)))
}

fn install(host: &HostSpec) -> String {
    format!("backstory install {}", host.name)
}

fn has_plugin(settings: &Value) -> bool {
    settings["enabledPlugins"].as_object().is_some_and(|plugins| {
        plugins
            .iter()
            .any(|(name, on)| name.starts_with("backstory@") && on == true)
    })
}

/// Returns true for an absolute path that is not executable. The search path of a host may differ from ours.
fn is_missing_program(program: &str) -> bool {
    let program = Path::new(program);
    program.is_absolute() && !is_program(program)
}
