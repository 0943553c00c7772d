//! The verbs that agents write about code, and their forms. A word that is not in the list is not a verb.

use std::sync::LazyLock;

use super::Phrases;

/// The form of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// return
    Base,
    /// returns
    Third,
    /// returned
    Past,
    /// returning
    Gerund,
}

/// Returns the base form and the form of a word that is a verb.
pub(crate) fn verb(word: &str) -> Option<(&'static str, Form)> {
    const LONGEST_VERB: usize = 20;
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
    if word.len() < 2
        || word.len() > LONGEST_VERB
        || !word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
    {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    if let Some(base) = known(&lower) {
        return Some((base, Form::Base));
    }
    if let Some((_, base)) = IRREGULAR.iter().find(|(past, _)| *past == lower) {
        return known(base).map(|base| (base, Form::Past));
    }
    if lower == "has" {
        return known("have").map(|base| (base, Form::Third));
    }
    if let Some(root) = lower.strip_suffix("ied") {
        return known(&format!("{root}y")).map(|base| (base, Form::Past));
    }
    if let Some(root) = lower.strip_suffix("ies") {
        return known(&format!("{root}y")).map(|base| (base, Form::Third));
    }
    if let Some(root) = lower.strip_suffix("ing") {
        return base_of_root(root).map(|base| (base, Form::Gerund));
    }
    if let Some(root) = lower.strip_suffix("ed") {
        return base_of_root(root).map(|base| (base, Form::Past));
    }
    let root = lower.strip_suffix('s')?;
    known(root)
        .or_else(|| known(root.strip_suffix('e')?))
        .map(|base| (base, Form::Third))
}

/// Reports whether a text is a statement: a finite verb follows its subject. A verb in brackets or in a relative clause does
/// not count, and neither does a noun that only looks like a verb ("during active turns").
pub(crate) fn is_statement(text: &str) -> bool {
    let outside = without_brackets(&super::outside_code(text));
    let words: Vec<String> = outside
        .split_whitespace()
        .map(|word| {
            word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '`'))
                .to_lowercase()
        })
        .collect();
    let main = words
        .iter()
        .take_while(|word| !RELATIVES.contains(word.as_str()))
        .count();
    words[..main].iter().enumerate().skip(1).any(|(at, word)| {
        let follows_noun = !words[at - 1].is_empty() && !BEFORE_NOUNS.contains(words[at - 1].as_str());
        let is_last = at + 1 == words.len();
        // "`rotate_keys` invalidates them": a verb that is not in the list shows by its place.
        let follows_code = words[at - 1].ends_with('`') && word.ends_with('s') && word.len() > 3 && !is_last;
        let follows_adverb = ADVERBS.contains(words[at - 1].as_str())
            && word.len() > 3
            && !AFTER_ADVERBS.contains(word.as_str());
        AUXILIARIES.contains(word.as_str())
            || follows_code
            || follows_adverb
            || verb(word).is_some_and(|(_, form)| match form {
                Form::Past => true,
                Form::Third => follows_noun && !is_last,
                // "Tokens expire": the base form after a plural.
                Form::Base => {
                    follows_noun
                        && words[..at]
                            .iter()
                            .any(|before| before.len() > 3 && before.ends_with('s'))
                }
                Form::Gerund => false,
            })
    })
}

/// "The loop now lives in one place": what follows is a verb.
static ADVERBS: Phrases = Phrases::new("now|longer|still|always|never|already");

/// Words after such an adverb that are no verbs.
static AFTER_ADVERBS: Phrases =
    Phrases::new("with|from|into|that|when|where|while|also|only|under|after|before");

/// Reports whether a text starts with a verb that orders or reports a change: "Add x", "Added x".
pub(crate) fn opens_with_change(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    verb(first).is_some_and(|(base, form)| is_change_verb(base) && matches!(form, Form::Base | Form::Past))
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    text.chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

static RELATIVES: Phrases = Phrases::new("where|that|which|who|whose");

static BEFORE_NOUNS: Phrases = Phrases::new(concat!(
    "the|a|an|of|for|in|with|during|all|more|no|these|those|new|active|both|and|or|to|on|from|by|two|",
    "three|four|five|key|git",
));

static AUXILIARIES: Phrases = Phrases::new(concat!(
    "is|are|was|were|be|has|have|had|does|do|did|can|could|will|would|should|must|may|might|cannot|can't|",
    "won't|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|hasn't|haven't|shouldn't|couldn't|wouldn't|",
    "need|needs|it's|that's|they're|there's",
));

/// Reports whether a verb states a change to code: add, fix, rename.
pub(crate) fn is_change_verb(base: &str) -> bool {
    CHANGES.binary_search(&base).is_ok()
}

fn base_of_root(root: &str) -> Option<&'static str> {
    known(&format!("{root}e")).or_else(|| known(root)).or_else(|| {
        let [.., before, last] = root.as_bytes() else {
            return None;
        };
        if before == last {
            known(&root[..root.len() - 1])
        } else {
            None
        }
    })
}

fn known(word: &str) -> Option<&'static str> {
    VERBS.binary_search(&word).ok().map(|at| VERBS[at])
}

static CHANGES: LazyLock<Vec<&str>> = LazyLock::new(|| CHANGES_LIST.split_whitespace().collect());
static VERBS: LazyLock<Vec<&str>> = LazyLock::new(|| VERBS_LIST.split_whitespace().collect());
static IRREGULAR: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    IRREGULAR_LIST
        .split_whitespace()
        .filter_map(|pair| pair.split_once(':'))
        .collect()
});

const CHANGES_LIST: &str = "
add adjust apply bump change clean configure convert correct create decorate delete deprecate disable document drop
enable enhance expand export expose extend extract fix guard implement import improve include initialize inline insert
install integrate introduce make merge migrate modify move optimize override patch pin publish refactor register
remove rename reorder replace resolve restore restrict restructure rework rewrite set simplify split swap switch
tighten tune unify update upgrade wire wrap write
";

const IRREGULAR_LIST: &str = "
became:become began:begin broke:break brought:bring built:build came:come caught:catch chose:choose did:do fell:fall
found:find gave:give got:get grew:grow had:have held:hold hid:hide hung:hang kept:keep knew:know led:lead lost:lose
made:make overrode:override overwrote:overwrite ran:run rebuilt:rebuild rewrote:rewrite saw:see sent:send shown:show
stood:stand threw:throw told:tell took:take understood:understand undid:undo went:go wrote:write written:write
rewritten:rewrite shrank:shrink taken:take given:give chosen:choose broken:break done:do gone:go overridden:override
hidden:hide
";

const VERBS_LIST: &str = "
abort accept access accumulate act add address adjust advance affect aggregate agree align allocate allow alter
analyze answer appear append apply approve arrive ask assert assign assume attach attempt avoid await back batch
become begin behave belong bind block break bring build bump bundle bypass cache calculate call cancel cap capture
carry cast catch cause change check choose clamp clean clear clone close collapse collect combine come commit compare
compile complete compose compress compute configure confirm connect consider construct consume contain continue
control convert copy correct count cover crash create cut deadlock debounce decide declare decode decorate deduplicate
default defer define delay delegate delete deliver demonstrate depend deploy deprecate derive describe deserialize
detect determine differ disable discard display distinguish do document double drop duplicate emit enable encode
encounter end enforce enhance ensure enter equal escape evaluate exceed exclude execute exist exit expand expect
expire explain export expose express extend extract fail fall fetch fill filter find finish fix flag flush fold follow
forbid force forget format forward free generate get give go group grow guarantee guard handle hang happen hash have
hide highlight hit hold honor honour identify ignore implement import improve include increase increment indent index
infer inherit initialize inject inline insert inspect install instantiate integrate interpret intersect introduce
invalidate investigate invoke isolate iterate join keep know lack launch lead leak leave let limit link lint list
listen load locate lock log look loop lose lower make manage map mark mask match memoize merge migrate mirror miss
mock modify monitor mount move multiply mutate name need negate nest normalize note notify obtain omit open operate
optimize order output overlap override overwrite pad panic parse pass patch peak perform persist pick pin pipe place
point poll populate prefer prefix prepare preserve prevent print prioritize proceed process produce propagate protect
prove provide prune publish pull push put qualify query queue quote raise reach react read rebase rebuild receive
recognize recompute record recover recreate redact redirect reduce refactor refer reference reflect refresh refuse
register reject release reload rely remain remove rename render renew reorder replace reply report represent request require
reset resolve respect respond restart restore restrict restructure result resume retain retarget retrieve retry return
reuse reveal revert review rework rewrite roll round route run sanitize save scan schedule scope search see select
send separate serialize serve set share shift show shrink shut sign simplify skip slice sort spawn specify split
squash stage stand start stay stop store stream strip subclass submit substitute subtract succeed suggest summarize
supply support suppress swallow swap switch sync take target tell terminate test throw tighten time toggle tolerate
touch trace track transform translate traverse treat triage trigger trim truncate try tune turn type understand undo
unescape unify unlock unwrap update upgrade upload use utilize validate verify wait walk want warn watch wire work
wrap write yield
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(VERBS.is_sorted());
        assert!(CHANGES.is_sorted());
    }

    #[test]
    fn statements_have_a_finite_verb() {
        for statement in [
            "`load` reads the file",
            "The cache is cold",
            "Tokens expired early",
            "Tokens in `auth` expire after a day",
            "The worker retries three times",
        ] {
            assert!(is_statement(statement), "{statement}");
        }
        for fragment in [
            "Architecture summary",
            "File: `a.rs` (line 3)",
            "Hook command format: hooks.go, 183",
            "Reading the file",
            "Contents → Read and write",
            "More operations during active turns",
            "The patterns where `x` is used",
        ] {
            assert!(!is_statement(fragment), "{fragment}");
        }
    }

    #[test]
    fn forms_are_recognized() {
        for (word, wanted) in [
            ("returns", Some(("return", Form::Third))),
            ("dropped", Some(("drop", Form::Past))),
            ("using", Some(("use", Form::Gerund))),
            ("wrote", Some(("write", Form::Past))),
            ("retries", Some(("retry", Form::Third))),
            ("table", None),
        ] {
            assert_eq!(verb(word), wanted, "{word}");
        }
    }
}
