//! Copies a text: by an escape sequence that terminals pass on, also over SSH, and by a program of this machine.

use std::{
    io::{self, Write},
    process::{Command, Stdio},
};

use backstory_engine::environment::Environment;

/// Programs that take the text on stdin, each with the variable without which it cannot work.
const PROGRAMS: [(&str, &[&str], Option<&str>); 4] = [
    ("wl-copy", &[], Some("WAYLAND_DISPLAY")),
    ("xclip", &["-selection", "clipboard"], Some("DISPLAY")),
    ("pbcopy", &[], None),
    ("clip.exe", &[], None),
];

/// The longest text that is copied: terminals ignore longer sequences.
const MAX_BYTES: usize = 70_000;

/// Writes the sequence OSC 52. A terminal that does not know it ignores it.
pub(super) fn write_sequence(
    terminal: &mut impl Write,
    text: &str,
    environment: &Environment,
) -> io::Result<()> {
    let sequence = sequence(text, environment.is_set("TMUX"));
    terminal.write_all(sequence.as_bytes())?;
    terminal.flush()
}

/// Passes the text to the clipboard program of this machine. Returns false if there is none.
pub(super) fn run_program(text: &str, environment: &Environment) -> bool {
    // Over SSH it would be the clipboard of the other machine.
    if environment.is_set("SSH_CONNECTION") {
        return false;
    }
    PROGRAMS.iter().any(|(name, arguments, needs)| {
        let can_run = needs.is_none_or(|variable| environment.is_set(variable));
        let program = environment.find_program(name).filter(|_| can_run);
        program.is_some_and(|program| {
            #[expect(clippy::disallowed_methods, reason = "found on the search path of the user")]
            let mut command = Command::new(program);
            command
                .args(*arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            feed(&mut command, text).unwrap_or(false)
        })
    })
}

fn feed(command: &mut Command, text: &str) -> io::Result<bool> {
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes())?;
    }
    Ok(child.wait()?.success())
}

fn sequence(text: &str, in_tmux: bool) -> String {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let sequence = format!("\x1b]52;c;{}\x07", base64(&text.as_bytes()[..end]));
    // tmux takes the sequence itself if `set-clipboard` is on, and passes on what is wrapped if `allow-passthrough` is.
    if in_tmux {
        format!("{sequence}\x1bPtmux;\x1b{sequence}\x1b\\")
    } else {
        sequence
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().enumerate().fold(0_usize, |group, (at, &byte)| {
            group | usize::from(byte) << (16 - 8 * at)
        });
        for digit in 0..4 {
            let letter = LETTERS[group >> (18 - 6 * digit) & 63];
            text.push(if digit > chunk.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_rfc_4648_says() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("ö?>", "w7Y/Pg=="),
        ];
        for (text, encoded) in cases {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }

    #[test]
    fn tmux_gets_the_sequence_for_itself_and_for_the_outer_terminal() {
        assert_eq!(sequence("f", false), "\x1b]52;c;Zg==\x07");
        assert_eq!(
            sequence("f", true),
            "\x1b]52;c;Zg==\x07\x1bPtmux;\x1b\x1b]52;c;Zg==\x07\x1b\\"
        );
        assert!(sequence(&"ö".repeat(MAX_BYTES), false).len() < 100_000);
    }
}
