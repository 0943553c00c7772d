//! Error texts: the chain of causes in one line, and hints for a store that does not open.

use backstory_store::StoreError;

/// Tells an error with its causes in one line.
pub fn error_chain(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // SQLite says everything twice.
        if !said.last().is_some_and(|last| cause.ends_with(last.as_str())) {
            said.push(cause);
        }
    }
    said.join(": ")
}

/// Says what a person can do about a store that does not open.
pub fn with_hint(error: StoreError) -> anyhow::Error {
    let hint = match &error {
        StoreError::Newer { .. } => {
            "update backstory, or set BACKSTORY_HOME to another folder; nothing was changed"
        }
        StoreError::Migrate(_) | StoreError::Backup { .. } => "nothing was changed; is the disk full?",
        _ => return error.into(),
    };
    anyhow::Error::new(error).context(format!("the store cannot be used\nhint: {hint}"))
}
