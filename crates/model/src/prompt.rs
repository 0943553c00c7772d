//! Classifies prompts by their text.

/// Reports whether a prompt was written by the agent program rather than by the user.
pub fn is_machine_made(prompt: &str) -> bool {
    const STARTS: [&str; 9] = [
        "Stop hook feedback:",
        "<agent-notification",
        "<bash-notification",
        "<teammate-message",
        "<task-notification",
        "<local-command-",
        "<bash-stdout",
        "<bash-stderr",
        "<system-reminder",
    ];
    let prompt = prompt.trim_start();
    STARTS.iter().any(|start| prompt.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_machine_made_and_other_tags_are_not() {
        assert!(is_machine_made("\n <task-notification>done</task-notification>"));
        assert!(is_machine_made("<system-reminder>x"));
        assert!(!is_machine_made("<div> is not closed"));
        assert!(!is_machine_made("why is <system-reminder> there?"));
    }
}
