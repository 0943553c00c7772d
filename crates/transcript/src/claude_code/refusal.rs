//! Recognizes the text with which the client reports a tool call that the user refused.

/// Returns the user's words if a tool result is a refusal; the inner value is absent if the user gave none.
pub fn refusal(text: &str) -> Option<Option<String>> {
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    if !text.starts_with("The user doesn't want to ") && text != "User rejected tool use" {
        return None;
    }
    let words = text.split_once("the user said:\n").map(|(_, words)| words.trim());
    // The client's own text when the user wants to talk about the questions first.
    let words = words
        .filter(|words| !words.is_empty() && !words.starts_with("The user wants to clarify these questions"));
    Some(words.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_users_words() {
        const START: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
        let said = |words: &str| format!("{START} To tell you how to proceed, the user said:\n{words}");
        assert_eq!(
            refusal(&said("main is clean")),
            Some(Some("main is clean".into()))
        );
        assert_eq!(refusal(&format!("{START} STOP what you are doing")), Some(None));
        assert_eq!(refusal("User rejected tool use"), Some(None));
        let clarify = "The user wants to clarify these questions.\n This means they may have more context.";
        assert_eq!(refusal(&said(clarify)), Some(None));
        assert_eq!(refusal("Exit code 1"), None);
    }
}
