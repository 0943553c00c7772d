//! Fits a statement into a title: a whole clause of at most 120 characters, or nothing.

use super::{Form, Phrases, is_outside_code, is_statement, verb};

/// The longest title, in characters.
pub(crate) const MAX_TITLE: usize = 120;
/// A clause shorter than this says too little to stand for the whole sentence.
const MIN_CLAUSE: usize = 28;

/// Returns a complete statement of at most [`MAX_TITLE`] characters: the text itself, or its main clause.
pub(crate) fn fit_title(text: &str) -> Option<String> {
    let text = text.trim();
    if text.ends_with(['?', '…']) || text.ends_with("...") {
        return None;
    }
    let leads_in = text.ends_with(':');
    let text = trim_end(text);
    if text.is_empty() {
        return None;
    }
    let text = without_open_clause(text, leads_in);
    let text = sentence_case(text);
    let short = without_place(&without_brackets(&text));
    if fits(&short) {
        if is_whole(&short) {
            return Some(short);
        }
        if !announces_list(&short) {
            return None;
        }
    }
    let clause = |ends: &'static Phrases| {
        clause_ends(&short, ends)
            .map(|at| trim_end(&short[..at]))
            .filter(|clause| {
                clause.chars().count() >= MIN_CLAUSE
                    && fits(clause)
                    && is_whole(clause)
                    && !opens_subordinate(clause)
                    && !ends_in_infinitive(clause)
            })
            .max_by_key(|clause| clause.len())
            .map(str::to_owned)
    };
    clause(&STRONG_ENDS)
        .or_else(|| clause(&WEAK_ENDS))
        .or_else(|| clause(&LAST_ENDS))
}

/// "Fixed the loader - now both functions:" leads into a list with its last words, which say nothing without it.
fn without_open_clause(text: &str, leads_in: bool) -> &str {
    let dash = [" - ", " — ", " – "]
        .iter()
        .filter_map(|dash| Some((text.rfind(dash)?, dash.len())))
        .max();
    match dash {
        Some((at, length)) if leads_in && !is_statement(&text[at + length..]) => trim_end(&text[..at]),
        _ => text,
    }
}

/// "It does two things", "for these reasons": what follows is missing.
fn announces_list(text: &str) -> bool {
    let mut words = text.rsplit(' ').map(str::to_lowercase);
    let (Some(noun), Some(count)) = (words.next(), words.next()) else {
        return false;
    };
    noun == "following" || noun == "follows" || (LISTED.contains(&noun) && COUNTS.contains(&count))
}

static LISTED: Phrases = Phrases::new(concat!(
    "things|ways|reasons|places|locations|cases|steps|parts|changes|fixes|issues|problems|options|approaches|",
    "causes|scenarios|components|conditions|points",
));

static COUNTS: Phrases =
    Phrases::new("two|three|four|five|six|2|3|4|5|6|these|several|some|multiple|key|main|following|few");

fn fits(text: &str) -> bool {
    text.chars().count() <= MAX_TITLE
}

fn trim_end(text: &str) -> &str {
    text.trim_end_matches(['.', ':', ';', ',', ' ', '!', '—', '–', '-'])
}

/// Upper-cases the first letter unless the text starts with a name.
pub(crate) fn sentence_case(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if c.is_lowercase() && !super::is_name(first_word) => {
            c.to_uppercase().collect::<String>() + chars.as_str()
        }
        _ => text.to_owned(),
    }
}

/// Removes bracketed asides from the end backwards while the text is too long.
fn without_brackets(text: &str) -> String {
    let mut out = text.to_owned();
    while !fits(&out) {
        let Some(open) = out.rfind(" (") else { break };
        let Some(close) = out[open..].find(')') else { break };
        if !is_outside_code(&out, open) || is_dangling(&out[..open]) {
            break;
        }
        out.replace_range(open..=open + close, "");
    }
    out
}

/// Removes the file after a name while the text is too long: "`rows()` in `shop/report.py` loads" is about `rows()`.
fn without_place(text: &str) -> String {
    let mut out = text.to_owned();
    while !fits(&out) {
        let Some(start) = out.find("` in `").map(|at| at + 1) else {
            break;
        };
        let Some(end) = out[start + 5..].find('`').map(|at| start + 5 + at + 1) else {
            break;
        };
        out.replace_range(start..end, "");
    }
    out
}

/// Returns the byte positions at which a clause may end.
fn clause_ends(text: &str, ends: &'static Phrases) -> impl Iterator<Item = usize> {
    let phrases = ends
        .list()
        .iter()
        .flat_map(|end| text.match_indices(end).map(|(at, _)| at));
    let participles = text.match_indices(", ").map(|(at, _)| at).filter(|at| {
        let word = text[at + 2..].split_whitespace().next().unwrap_or_default();
        verb(word).is_some_and(|(_, form)| form == Form::Gerund)
    });
    phrases
        .chain(participles)
        .filter(|&at| is_outside_code(text, at) && is_balanced(&text[..at]) && !is_in_enumeration(text, at))
}

/// "Added a flag, a default, and tests": the comma before "and" ends an entry, not a clause.
fn is_in_enumeration(text: &str, at: usize) -> bool {
    text[at..].starts_with(", and ") && super::outside_code(&text[..at]).contains(", ")
}

/// Reports whether a text neither breaks off nor leaves a bracket, quote or code span open.
fn is_whole(text: &str) -> bool {
    // "A test that: uses x" is a lead-in with the first entry of its list.
    if text.split_once(": ").is_some_and(|(lead, _)| is_lead_in(lead)) {
        return false;
    }
    !text.ends_with('…')
        && !is_dangling(text)
        && !announces_list(text)
        && has_main_clause(text)
        && !text.contains(" the (")
        && is_balanced(text)
        && is_outside_code(text, text.len())
}

fn is_balanced(text: &str) -> bool {
    let outside = super::outside_code(text);
    outside.matches('(').count() == outside.matches(')').count()
        && outside.matches('"').count().is_multiple_of(2)
        && outside.matches('“').count() == outside.matches('”').count()
}

fn is_lead_in(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
    LEAD_IN_ENDS.contains(&last)
}

static LEAD_IN_ENDS: Phrases = Phrases::new(
    "that|if|to|are|is|was|were|when|where|either|by|includes|including|just|whether|can|could|which",
);

fn is_dangling(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
    DANGLING.contains(last.as_str())
}

/// "Moved `load` out of the lock to run" breaks off before its point if more followed.
fn ends_in_infinitive(clause: &str) -> bool {
    let mut words = clause.rsplit(' ');
    let last = words.next().unwrap_or_default();
    words.next() == Some("to") && verb(last).is_some_and(|(_, form)| form == Form::Base)
}

/// "When the cache is cold" needs the clause after its comma.
fn has_main_clause(text: &str) -> bool {
    !opens_subordinate(text) || super::outside_code(text).contains(", ")
}

fn opens_subordinate(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    SUBORDINATORS.contains(first.as_str())
}

/// Punctuation that ends a clause for certain.
static STRONG_ENDS: Phrases = Phrases::new(concat!(
    ", which|, so |, but |, because|, since|, while|, rather|, even|, where|, not |, instead|; | — | – |",
    " - ",
));

/// Conjunctions that end a main clause if enough stands before them.
static WEAK_ENDS: Phrases = Phrases::new(concat!(
    ", and |, with |, when|, as | because | since | so that | so | to ensure | to avoid | to allow |",
    " to match | to prevent | in order to | instead of | rather than |: | without | whereas | while |",
    " which | where | when | but | before | after ",
));

/// The last resort: what was done without its means.
static LAST_ENDS: Phrases = Phrases::new(" with | using | by ");

static SUBORDINATORS: Phrases = Phrases::new(
    "when|if|since|while|although|after|before|instead|because|even|as|once|unless|rather|without",
);

static DANGLING: Phrases = Phrases::new(concat!(
    "is|are|was|were|be|been|being|the|a|an|of|to|in|on|at|for|from|with|by|and|or|but|not|that|which|",
    "when|if|as|its|their|has|have|had|than|into|between|because|where|while|can|could|should|would|will|",
    "both|such|like|including|e.g|i.e|vs|via|using|this|these|also|likely|probably|that's|it's|only|just|",
    "since|whether|does|even|though|although",
));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_keeps_its_main_clause() {
        assert_eq!(
            fit_title("`Loader` skips hidden files in every folder below the root, which keeps the index small and makes the scan of a large tree much faster.").as_deref(),
            Some("`Loader` skips hidden files in every folder below the root")
        );
        assert_eq!(
            fit_title("the parser (added in the second round of reviews, see the notes of that meeting and its appendix) keeps comments in place").as_deref(),
            Some("The parser keeps comments in place")
        );
    }

    #[test]
    fn an_infinitive_ends_a_whole_statement_but_no_part_of_one() {
        assert_eq!(
            fit_title("Fixed the race that caused the worker to hang.").as_deref(),
            Some("Fixed the race that caused the worker to hang")
        );
        assert_eq!(
            fit_title(
                "Moved `flush_pages` out of the lock to run before the next job of the nightly export takes the lock and waits for the disk again"
            ),
            None
        );
    }

    #[test]
    fn a_title_never_breaks_off() {
        assert_eq!(fit_title(&"word ".repeat(40)), None);
        assert_eq!(fit_title("`Loader` reads the file because the"), None);
        assert_eq!(fit_title("Should the loader skip hidden files?"), None);
        assert_eq!(fit_title("The loader skips files..."), None);
        assert_eq!(fit_title("The loader is enough since"), None);
        assert_eq!(
            fit_title("`load` calls `parse_header` of the reader, which does two things").as_deref(),
            Some("`load` calls `parse_header` of the reader")
        );
        assert_eq!(
            fit_title("Renamed `CreateReadme` to `CreateDocs` with a new comment, a name field, and an explanation of the file name that it writes").as_deref(),
            Some("Renamed `CreateReadme` to `CreateDocs`")
        );
    }
}
