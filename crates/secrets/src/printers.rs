//! Commands whose output is a secret: `pass show`, `op read`, `kubectl get secret -o yaml`, `env`.
//!
//! The output of such a command has no mark that the scanner could find. A command whose output is captured (`$(…)`), piped into
//! another program or written to a file prints nothing.

/// Words that a command consists of, in this order and possibly with flags and arguments between them.
const PRINTERS: &[&str] = &[
    "pass show",
    "gopass show",
    "lpass show",
    "keepassxc-cli show",
    "op read",
    "op item get",
    "bw get",
    "vault kv get",
    "vault read",
    "vault token create",
    "kubectl get secret -o",
    "kubectl get secrets -o",
    "kubectl create token",
    "oc whoami -t",
    "aws secretsmanager get-secret-value",
    "aws ssm get-parameter",
    "aws ssm get-parameters",
    "aws ecr get-login-password",
    "aws sts get-session-token",
    "aws sts assume-role",
    "aws configure get",
    "aws configure export-credentials",
    "gcloud secrets versions access",
    "gcloud auth print-access-token",
    "gcloud auth print-identity-token",
    "az keyvault secret show",
    "az account get-access-token",
    "gh auth token",
    "glab auth token",
    "heroku config:get",
    "heroku auth:token",
    "fly auth token",
    "doppler secrets",
    "infisical secrets",
    "chamber read",
    "chamber export",
    "sops -d",
    "sops --decrypt",
    "sops decrypt",
    "gpg -d",
    "gpg --decrypt",
    "age -d",
    "age --decrypt",
    "ansible-vault view",
    "ansible-vault decrypt",
    "keyring get",
    "secret-tool lookup",
    "security find-generic-password",
    "security find-internet-password",
    "git credential fill",
    "docker-credential-desktop get",
    "wg genkey",
    "pwgen",
    "openssl rand",
    "openssl genrsa",
    "openssl genpkey",
    "htpasswd -n",
    "terraform output -raw",
];

/// Programs that pass on what they read.
const FILTERS: &[&str] = &[
    "cat", "head", "tail", "grep", "egrep", "rg", "sed", "awk", "cut", "tr", "sort", "uniq", "jq", "yq",
    "base64", "tee", "less", "more", "xxd", "fold", "nl", "strings",
];

/// The secrets that a command line prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// A secret without a name.
    pub secret: bool,
    /// Environment variables.
    pub environment: bool,
}

/// The longest part of a command line that is read.
const MAX_LEN: usize = 16 * 1024;

/// Returns which secrets a command line prints.
pub fn printed_secrets(command: &str) -> Printed {
    let mut rest = &command[..command.floor_char_boundary(MAX_LEN)];
    let mut printed = Printed::default();
    let mut pipeline = Printed::default();
    let mut is_piped = false;
    loop {
        let end = rest
            .bytes()
            .position(|byte| matches!(byte, b'\n' | b';' | b'&' | b'|'));
        let (stage, after) = rest.split_at(end.unwrap_or(rest.len()));
        pipeline = stage_output(stage, pipeline, is_piped);
        is_piped = after.starts_with('|') && !after.starts_with("||");
        if !is_piped {
            printed.secret |= pipeline.secret;
            printed.environment |= pipeline.environment;
        }
        let Some(next) = after.get(1..) else {
            return printed;
        };
        rest = next.strip_prefix(['|', '&']).unwrap_or(next);
    }
}

/// Returns what one command of a pipeline prints; `before` is what it reads.
fn stage_output(stage: &str, before: Printed, is_piped: bool) -> Printed {
    // Captured output is part of another command.
    let shown = stage.split("$(").next().unwrap_or_default();
    let mut words = shown
        .split_ascii_whitespace()
        .map(|word| word.trim_matches(['(', ')', '"', '\'']))
        .skip_while(|word| word.contains('=') || matches!(*word, "sudo" | "time" | "command" | "" | "{"));
    let Some(program) = words.next() else {
        return Printed::default();
    };
    let is_redirected = |mut words: std::str::SplitAsciiWhitespace<'_>| {
        words.any(|word| word.starts_with('>') && !word.starts_with(">&"))
    };
    let output = if is_piped {
        if FILTERS.contains(&program) {
            before
        } else {
            Printed::default()
        }
    } else if ["env", "printenv", "export", "set", "declare"].contains(&program) {
        let first = words.find(|word| !word.starts_with('>'));
        Printed {
            secret: false,
            environment: match program {
                "printenv" => true,
                "declare" => first == Some("-x"),
                _ => first.is_none_or(|word| word == "-p"),
            },
        }
    } else if PRINTERS.iter().any(|printer| starts_with_word(printer, program)) {
        let words: Vec<&str> = words.collect();
        Printed {
            secret: PRINTERS.iter().any(|printer| {
                let mut rest = words.iter();
                starts_with_word(printer, program)
                    && printer
                        .split(' ')
                        .skip(1)
                        .all(|word| rest.any(|found| is_word(found, word)))
            }),
            environment: false,
        }
    } else {
        Printed::default()
    };
    if output != Printed::default() && is_redirected(shown.split_ascii_whitespace()) {
        return Printed::default();
    }
    output
}

fn starts_with_word(words: &str, word: &str) -> bool {
    words
        .strip_prefix(word)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Compares a word; a flag may be joined with its value: `-oyaml`.
fn is_word(found: &str, word: &str) -> bool {
    found == word || (word.len() == 2 && word.starts_with('-') && found.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_print_a_secret_are_recognized() {
        for command in [
            "pass show db/prod",
            "cd x && op read op://vault/item/password",
            "vault kv get -field=password secret/db",
            "kubectl -n prod get secret db -o yaml",
            "kubectl get secret db -ojson | jq -r .data.password | base64 -d",
            "AWS_PROFILE=x aws secretsmanager get-secret-value --secret-id y",
            "sudo gh auth token",
        ] {
            assert!(printed_secrets(command).secret, "{command}");
        }
        for command in [
            "export TOKEN=$(gh auth token)",
            "op read op://x/y | docker login --password-stdin",
            "pass show db > /tmp/x",
            "kubectl get secret",
            "kubectl get pods -o yaml",
            "pass insert db/prod",
            "cargo test -- pass show",
        ] {
            assert!(!printed_secrets(command).secret, "{command}");
        }
    }

    #[test]
    fn commands_that_print_the_environment_are_recognized() {
        for command in [
            "env",
            "printenv",
            "printenv DB_PASSWORD",
            "env | sort | grep DB",
            "cd x; env",
        ] {
            assert!(printed_secrets(command).environment, "{command}");
        }
        for command in [
            "env FOO=1 cargo test",
            "export A=1",
            "set -e",
            "source .venv/bin/activate",
            "env > x",
        ] {
            assert!(!printed_secrets(command).environment, "{command}");
        }
    }
}
