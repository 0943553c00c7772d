//! The supported hosts: one row in [`HOSTS`] and one small file each.
//!
//! A host's file declares where the host keeps its settings, which of its events are captured, how its payloads map to the
//! names of [`crate::hook_payload`], and the format in which it accepts injections. Behind normalization there is one kind of
//! payload: no other module knows a host's field names.

mod claude_code;
mod codex;
mod copilot_cli;
mod cursor;
mod gemini_cli;
mod object;
mod opencode;
mod spec;
mod vscode;
mod windsurf;

pub use spec::{
    ConfigPath, DefaultOutput, HookRow, HostPayload, HostSpec, InjectionTrigger, InstallItem, Normalize,
    NormalizedPayload, OUR_MARK, OutputFormat, RulesFile, shell_word,
};

/// All hosts, the most used first.
pub static HOSTS: [&HostSpec; 8] = [
    &claude_code::SPEC,
    &codex::SPEC,
    &cursor::SPEC,
    &gemini_cli::SPEC,
    &opencode::SPEC,
    &windsurf::SPEC,
    &copilot_cli::SPEC,
    &vscode::SPEC,
];

/// Finds a host by its name.
pub fn find(name: &str) -> Option<&'static HostSpec> {
    HOSTS.into_iter().find(|host| host.name == name)
}

#[cfg(test)]
mod tests {
    use backstory_model::Host;

    use super::*;

    #[test]
    fn every_host_is_complete() {
        for host in HOSTS {
            assert_eq!(Host::new(host.name).unwrap().as_str(), host.name);
            assert!(std::ptr::eq(find(host.name).unwrap(), host));
            assert!(
                !host.parts.is_empty() && !host.install_markers.is_empty(),
                "{host:?}"
            );
            let writes_hooks = host
                .parts
                .iter()
                .any(|part| matches!(part, InstallItem::Hooks { .. }));
            assert_eq!(writes_hooks, !host.hooks.is_empty(), "{host:?}");
            if let Some(rules) = host.rules {
                assert!(rules.head.starts_with("---\n") && rules.head.ends_with("---\n"));
            }
        }
        assert!(find("emacs").is_none());
    }
}
