//! Text from a session on one line, with nothing in it that plays tricks on a reader.

/// Makes text from a session fit one line: controls and line breaks become blanks, the rest is cut at the width.
pub fn one_line(text: &str, width: usize) -> String {
    // Most titles are such a line already.
    if text.len() <= width && text.trim() == text && !text.contains("  ") && is_printable(text) {
        return text.to_owned();
    }
    // Looking at a little more than fits keeps this cheap for a prompt of a megabyte.
    let start: String = text
        .chars()
        .filter(|&c| !is_invisible(c))
        .take(width * 2)
        .collect();
    let words = start
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let cut: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Characters that change how others are shown, and so what a person believes to read.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
