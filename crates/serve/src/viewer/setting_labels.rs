//! Readable names of settings. A setting without one is called by its key.

/// Key and label.
const LABELS: [(&str, &str); 30] = [
    ("capture.skip_tools", "Tools that are not recorded"),
    ("capture.exclude", "Folders that are not recorded"),
    ("capture.max_payload_kb", "Largest event, in KB"),
    ("capture.redact", "Redact secrets"),
    ("capture.durability", "Durability"),
    ("distill.provider", "Who writes memories"),
    ("distill.model", "Model"),
    ("distill.base_url", "Address of the provider"),
    ("distill.api_key_env", "Variable with the API key"),
    ("distill.api_key_file", "File with the API key"),
    ("distill.daily_tokens", "Tokens per day"),
    ("distill.session_tokens", "Tokens per session"),
    ("distill.prices", "Prices of models"),
    ("distill.concurrency", "Calls at the same time"),
    ("distill.max_input_tokens", "Largest request, in tokens"),
    ("context.observations", "Most memories at the start"),
    ("context.sessions", "Most sessions at the start"),
    ("context.full", "Memories shown in full"),
    ("context.full_field", "Text of memories in full"),
    ("context.types", "Types of memories"),
    ("context.budget_tokens", "Tokens at the start"),
    ("context.prompt_tokens", "Tokens at a prompt"),
    ("context.on_start", "Inject at the start of a session"),
    ("context.on_prompt", "Inject at a prompt"),
    ("context.on_file", "Inject at a file"),
    ("context.on_error", "Inject after a failure"),
    ("recall.guard", "Before a command that failed here"),
    ("mcp.all_projects", "Agents may search all projects"),
    ("retention.max_db_mb", "Largest database, in MB"),
    ("ui.timezone", "Time zone"),
];

/// Returns the label of a setting.
pub(super) fn label(key: &str) -> String {
    match LABELS.iter().find(|(known, _)| *known == key) {
        Some((_, label)) => (*label).to_owned(),
        None => key
            .split_once('.')
            .map_or(key, |(_, name)| name)
            .replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use backstory_engine::settings::key_named;

    use super::*;

    #[test]
    fn every_label_is_of_a_setting() {
        for (key, _) in LABELS {
            assert!(key_named(key).is_ok(), "{key}");
        }
        assert_eq!(label("http.port"), "port");
    }
}
