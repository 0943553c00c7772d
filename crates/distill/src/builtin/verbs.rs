//! The verbs that agents write about code, and their forms: enough English to turn "updated X to return Y" into
//! "X returns Y". A word that is not in the list is not guessed at.

use std::sync::LazyLock;

/// The form in which a verb stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// return
    Base,
    /// returns
    Third,
    /// returned
    Past,
    /// returning
    Gerund,
}

/// Finds the verb that a word is a form of.
pub(super) fn verb(word: &str) -> Option<(&'static str, Form)> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '`'));
    if word.len() < 2 || word.len() > 20 || !word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-') {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    if let Some(base) = known(&lower) {
        return Some((base, Form::Base));
    }
    if let Some(&(_, base)) = IRREGULAR.iter().find(|(past, _)| *past == lower) {
        return known(base).map(|base| (base, Form::Past));
    }
    if let Some(root) = lower.strip_suffix("ing") {
        return roots(root).map(|base| (base, Form::Gerund));
    }
    if let Some(root) = lower.strip_suffix("ied").or_else(|| lower.strip_suffix("ies")) {
        let form = if lower.ends_with('d') {
            Form::Past
        } else {
            Form::Third
        };
        return known(&format!("{root}y")).map(|base| (base, form));
    }
    if let Some(root) = lower.strip_suffix("ed") {
        return roots(root).map(|base| (base, Form::Past));
    }
    if lower == "has" {
        return known("have").map(|base| (base, Form::Third));
    }
    let root = lower.strip_suffix('s')?;
    known(root)
        .or_else(|| known(root.strip_suffix('e')?))
        .map(|base| (base, Form::Third))
}

fn roots(root: &str) -> Option<&'static str> {
    let undoubled = root.len() > 2 && root.as_bytes()[root.len() - 1] == root.as_bytes()[root.len() - 2];
    known(&format!("{root}e")).or_else(|| known(root)).or_else(|| {
        if undoubled {
            known(&root[..root.len() - 1])
        } else {
            None
        }
    })
}

fn known(word: &str) -> Option<&'static str> {
    VERBS.binary_search(&word).ok().map(|at| VERBS[at])
}

/// The third person of a base form: return -> returns.
pub(super) fn third(base: &str) -> String {
    if base == "have" {
        return "has".to_owned();
    }
    if base == "be" {
        return "is".to_owned();
    }
    let last_two = base
        .as_bytes()
        .get(base.len().saturating_sub(2)..)
        .unwrap_or_default();
    match last_two {
        [before, b'y'] if !b"aeiou".contains(before) => format!("{}ies", &base[..base.len() - 1]),
        [_, b's' | b'x' | b'z' | b'o'] | [b'c' | b's', b'h'] => format!("{base}es"),
        _ => format!("{base}s"),
    }
}

/// The gerund of a base form: use -> using.
pub(super) fn gerund(base: &str) -> String {
    let past = past(base);
    if past == format!("{base}{}ed", &base[base.len() - 1..]) {
        return format!("{}ing", &past[..past.len() - 2]);
    }
    match base.strip_suffix('e') {
        Some(root) if !base.ends_with("ee") => format!("{root}ing"),
        _ if matches!(base, "set" | "split" | "cut" | "put" | "run" | "get") => {
            format!("{base}{}ing", &base[base.len() - 1..])
        }
        _ => format!("{base}ing"),
    }
}

/// The past of a base form: wrap -> wrapped.
pub(super) fn past(base: &str) -> String {
    if let Some(&(past, _)) = IRREGULAR.iter().find(|(_, known)| *known == base) {
        return past.to_owned();
    }
    if matches!(
        base,
        "set" | "split" | "cut" | "put" | "let" | "shut" | "hit" | "read"
    ) {
        return base.to_owned();
    }
    if base.ends_with('e') {
        return format!("{base}d");
    }
    if let Some(root) = base.strip_suffix('y')
        && !root.ends_with(['a', 'e', 'i', 'o', 'u'])
    {
        return format!("{root}ied");
    }
    if matches!(
        base,
        "drop"
            | "wrap"
            | "swap"
            | "pin"
            | "skip"
            | "stop"
            | "trim"
            | "strip"
            | "map"
            | "cap"
            | "plan"
            | "log"
            | "tag"
    ) {
        let last = &base[base.len() - 1..];
        return format!("{base}{last}ed");
    }
    format!("{base}ed")
}

/// Whether a verb says that something was changed: added, fixed, renamed.
pub(super) fn is_change(base: &str) -> bool {
    CHANGES.binary_search(&base).is_ok()
}

static CHANGES: LazyLock<Vec<&str>> = LazyLock::new(|| CHANGES_LIST.split_whitespace().collect());

const CHANGES_LIST: &str = "
add adjust apply bump change clean configure convert correct create decorate delete deprecate
disable document drop enable enhance expand export expose extend extract fix guard implement import
improve include initialize inline insert install integrate introduce make merge migrate modify move
optimize override patch pin publish refactor register remove rename reorder replace resolve restore
restrict restructure rework rewrite set simplify split swap switch tighten tune unify update upgrade
wire wrap write
";

static IRREGULAR: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    IRREGULAR_LIST
        .split_whitespace()
        .filter_map(|pair| pair.split_once(':'))
        .collect()
});

const IRREGULAR_LIST: &str = "
became:become began:begin broke:break brought:bring built:build came:come caught:catch chose:choose
did:do fell:fall found:find gave:give got:get grew:grow had:have held:hold hid:hide hung:hang
kept:keep knew:know led:lead lost:lose made:make overrode:override overwrote:overwrite ran:run
rebuilt:rebuild rewrote:rewrite saw:see sent:send shown:show stood:stand threw:throw told:tell
took:take understood:understand undid:undo went:go wrote:write written:write rewritten:rewrite
shrank:shrink taken:take given:give chosen:choose broken:break done:do gone:go overridden:override
hidden:hide
";

static VERBS: LazyLock<Vec<&str>> = LazyLock::new(|| VERBS_LIST.split_whitespace().collect());

const VERBS_LIST: &str = "
abort accept access accumulate act add address adjust advance affect aggregate agree align allocate
allow alter analyze answer appear append apply arrive ask assert assign assume attach attempt avoid
await back batch become begin behave belong bind block break bring build bump bundle bypass cache
calculate call cancel cap capture carry cast catch cause change check choose clamp clean clear clone
close collapse collect combine come commit compare compile complete compose compress compute
configure confirm connect consider construct consume contain continue control convert copy correct
count cover crash create cut deadlock debounce decide declare decode decorate deduplicate default
defer define delay delegate delete deliver demonstrate depend deploy deprecate derive describe
deserialize detect determine differ disable discard display distinguish do document double drop
duplicate emit enable encode encounter end enforce enhance ensure enter equal escape evaluate exceed
exclude execute exist exit expand expect expire explain export expose express extend extract fail
fall fetch fill filter find finish fix flag flush fold follow forbid force forget format forward
free generate get give go group grow guarantee guard handle hang happen hash have hide highlight hit
hold honor honour identify ignore implement import improve include increase increment indent index
infer inherit initialize inject inline insert inspect install instantiate integrate interpret
intersect introduce invalidate invoke isolate iterate join keep know lack launch lead leak leave let
limit link list listen load locate lock log look loop lose lower make manage map mark mask match
memoize merge migrate mirror miss mock modify monitor mount move multiply mutate name need negate
nest normalize note notify obtain omit open operate optimize order output overlap override overwrite
pad panic parse pass patch peak perform persist pick pin pipe place point poll populate prefer
prefix prepare preserve prevent print prioritize process produce propagate protect prove provide
prune publish pull push put query queue quote raise reach react read rebuild receive recognize
recompute record recover recreate redact redirect reduce refactor refer reference reflect refresh
refuse register reject release reload rely remain remove rename render reorder replace report
represent request require reset resolve respect respond restart restore restrict restructure result
resume retain retrieve retry return reuse reveal revert rework rewrite roll round route run sanitize
save scan schedule scope search see select send separate serialize serve set share shift show shrink
shut sign simplify skip slice sort spawn specify split stage stand start stay stop store stream
strip subclass submit substitute subtract succeed suggest supply support suppress swallow swap
switch sync take target tell terminate test throw tighten time toggle tolerate touch trace track
transform translate traverse treat trigger trim truncate try tune turn type understand undo unescape
unify unlock unwrap update upgrade upload use utilize validate verify wait walk want warn watch wire
work wrap write yield
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_for_the_search() {
        assert!(VERBS.is_sorted());
        assert!(CHANGES.is_sorted());
        assert!(CHANGES.iter().all(|verb| known(verb).is_some()));
        assert!(IRREGULAR.iter().all(|(_, base)| known(base).is_some()));
    }

    #[test]
    fn forms_lead_back_to_the_verb() {
        for (word, wanted) in [
            ("return", Some(("return", Form::Base))),
            ("Returns", Some(("return", Form::Third))),
            ("raised", Some(("raise", Form::Past))),
            ("dropped", Some(("drop", Form::Past))),
            ("handling", Some(("handle", Form::Gerund))),
            ("retries", Some(("retry", Form::Third))),
            ("wrote", Some(("write", Form::Past))),
            ("passes", Some(("pass", Form::Third))),
            ("table", None),
        ] {
            assert_eq!(verb(word), wanted, "{word}");
        }
    }

    #[test]
    fn third_persons() {
        for (base, wanted) in [
            ("return", "returns"),
            ("retry", "retries"),
            ("pass", "passes"),
            ("catch", "catches"),
            ("have", "has"),
        ] {
            assert_eq!(third(base), wanted);
        }
    }
}
