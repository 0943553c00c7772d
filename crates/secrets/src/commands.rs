//! Command-line flags of well-known programs that take a password: `curl -u user:password`, `mysql -pPassword`.

use std::ops::Range;

use crate::{
    escapes::{EscapeStep, at_word_start, skip_blanks, step},
    literal::is_placeholder,
    secret::Secret,
    values::{bare_end, quoted},
};

/// A program and its flags that take a secret.
pub(crate) struct Command {
    /// At least four characters, for the anchor.
    pub(crate) program: &'static str,
    flags: &'static [Flag],
}

/// The notation of a flag and its secret.
enum Flag {
    /// `-p secret`
    Apart(&'static str),
    /// `-psecret`
    Joined(&'static str),
    /// `-u user:secret`
    AfterUser(&'static str),
}

use Flag::{AfterUser, Apart, Joined};

/// The known programs. To add one, add a row.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        program: "curl",
        flags: &[
            AfterUser("-u"),
            AfterUser("--user"),
            AfterUser("-U"),
            AfterUser("--proxy-user"),
        ],
    },
    Command {
        program: "sshpass",
        flags: &[Apart("-p"), Joined("-p")],
    },
    Command {
        program: "mysql",
        flags: &[Joined("-p")],
    },
    Command {
        program: "mysqldump",
        flags: &[Joined("-p")],
    },
    Command {
        program: "mysqladmin",
        flags: &[Joined("-p")],
    },
    Command {
        program: "mariadb",
        flags: &[Joined("-p")],
    },
    Command {
        program: "mongo",
        flags: &[Apart("-p")],
    },
    Command {
        program: "mongosh",
        flags: &[Apart("-p")],
    },
    Command {
        program: "mongodump",
        flags: &[Apart("-p")],
    },
    Command {
        program: "redis-cli",
        flags: &[Apart("-a")],
    },
    Command {
        program: "docker login",
        flags: &[Apart("-p")],
    },
    Command {
        program: "podman login",
        flags: &[Apart("-p")],
    },
    Command {
        program: "ldapsearch",
        flags: &[Apart("-w")],
    },
    Command {
        program: "sqlcmd",
        flags: &[Apart("-P")],
    },
    Command {
        program: "unzip",
        flags: &[Apart("-P")],
    },
    Command {
        program: "gh secret set",
        flags: &[Apart("--body"), Apart("-b")],
    },
    Command {
        program: "az login",
        flags: &[Apart("-p")],
    },
    Command {
        program: "helm registry login",
        flags: &[Apart("-p")],
    },
    Command {
        program: "smbclient",
        flags: &[AfterUser("-U")],
    },
];

/// Progress in one text: for each program, the position up to which its command lines have been read.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    read: [usize; COMMANDS.len()],
}

impl Commands {
    /// Reads the command line whose program starts at `at`. Returns the position at which to continue, or 0.
    pub(crate) fn read(&mut self, text: &[u8], index: u16, at: usize, found: &mut Vec<Secret>) -> usize {
        let command = &COMMANDS[usize::from(index)];
        let Some(rest) = text[at..].strip_prefix(command.program.as_bytes()) else {
            return 0;
        };
        // A line is read once, however often it names the program.
        let read = &mut self.read[usize::from(index)];
        if at < *read || rest.first() != Some(&b' ') || !at_word_start(text, at) {
            return 0;
        }
        let mut word = at + command.program.len();
        let mut resume = 0;
        loop {
            word = skip_blanks(text, word);
            if let Some(range) = command.flags.iter().find_map(|flag| flag.value(text, word)) {
                word = range.end;
                resume = range.end;
                found.push(Secret {
                    range,
                    kind: "password",
                });
            }
            word = word_end(text, word);
            if !matches!(step(text, word), EscapeStep::Blank) {
                *read = word;
                return resume;
            }
        }
    }
}

impl Flag {
    fn value(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let (Self::Apart(name) | Self::Joined(name) | Self::AfterUser(name)) = self;
        let after = text[at..]
            .starts_with(name.as_bytes())
            .then_some(at + name.len())?;
        let value = skip_blanks(text, after);
        if (value == after) != matches!(self, Self::Joined(_)) && !matches!(self, Self::AfterUser(_)) {
            return None;
        }
        let mut range = quoted(text, value).unwrap_or_else(|| value..bare_end(text, value));
        if matches!(self, Self::AfterUser(_)) {
            let separator = |byte: &u8| matches!(byte, b':' | b'%');
            range.start += text[range.clone()].iter().position(separator)? + 1;
        }
        let value = &text[range.clone()];
        (value.len() >= 3 && !value.starts_with(b"-") && !is_placeholder(value)).then_some(range)
    }
}

/// Returns the end of a word, whose quoted parts may contain blanks. The command ends at `|`, `;` and the end of the line.
fn word_end(text: &[u8], mut at: usize) -> usize {
    loop {
        at = match step(text, at) {
            EscapeStep::Plain { .. } if matches!(text[at], b'|' | b';') => return at,
            EscapeStep::Plain { end } => end,
            EscapeStep::Quote { end, .. } => {
                let close = quoted(text, at).map_or(end, |value| value.end);
                match step(text, close) {
                    EscapeStep::Quote { end, .. } => end,
                    _ => close,
                }
            }
            EscapeStep::Blank | EscapeStep::Break | EscapeStep::End => return at,
        };
    }
}
