//! Entities, as models write them, and characters that nobody should see.

/// Reads entities and leaves out control characters; lines stay.
pub(super) fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match entity(rest) {
            Some((letter, length)) => {
                out.push(letter);
                rest = &rest[length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out.retain(|letter| letter == '\n' || !letter.is_control());
    out
}

/// The letter that an entity stands for, and how long the entity is.
fn entity(text: &str) -> Option<(char, usize)> {
    const MAX_LEN: usize = 10;
    let end = text.bytes().take(MAX_LEN).position(|byte| byte == b';')?;
    let letter = match &text[1..end] {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" | "#39" => '\'',
        "nbsp" => ' ',
        other => {
            let number = other.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((letter, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_become_letters_and_the_rest_stays() {
        assert_eq!(
            decode("a &lt;b&gt; &amp;&amp; &quot;c&#39;&#x41;"),
            "a <b> && \"c'A"
        );
        assert_eq!(
            decode("R&D & &; &unknown; &#xffffffff; &é;"),
            "R&D & &; &unknown; &#xffffffff; &é;"
        );
        assert_eq!(decode("a\u{1b}[31mb\nc&#27;"), "a[31mb\nc");
    }
}
