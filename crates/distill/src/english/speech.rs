//! Classifies sentences by what they do: narrate, ask, give a verdict, give a reason, decide, leave work open.

use super::{Form, Phrases, count_names, is_name, lower_head, opens_with_change, sentence_case, verb};

/// Strips interjections, agreement and the speaker from the start of a sentence: "Good - I've added x" becomes "Added x".
pub(crate) fn strip_openers(sentence: &str) -> String {
    let mut rest = sentence.trim();
    loop {
        let lower = lower_head(rest);
        let end = interjection_end(&lower)
            .or_else(|| CONNECTORS.at_start(&lower).map(str::len))
            .or_else(|| speaker_end(&lower));
        let Some(after) = end.and_then(|end| rest.get(end..)) else {
            return sentence_case(rest);
        };
        let after = after.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, ',' | '!' | '.' | '-' | '—' | '–' | ':' | ';')
        });
        if after.is_empty() {
            return String::new();
        }
        rest = after;
    }
}

/// "Good - ", "Perfect!", "Yes, ": an interjection counts only when punctuation follows.
fn interjection_end(lower: &str) -> Option<usize> {
    let phrase = INTERJECTIONS.at_start(lower)?;
    let after = &lower[phrase.len()..];
    let punctuation = after.trim_start_matches(' ');
    let spaced = after.len() > punctuation.len();
    let is_mark = |c: char| matches!(c, '!' | '.' | ',' | ';' | ':' | '—' | '–') || (spaced && c == '-');
    (punctuation.is_empty() || punctuation.starts_with(is_mark)).then_some(phrase.len())
}

/// "I've ", "we ", only before a verb in the past: "I updated" reads as a report without its speaker.
fn speaker_end(lower: &str) -> Option<usize> {
    let phrase = SPEAKERS.at_start(lower)?;
    let next = lower[phrase.len()..].split_whitespace().next()?;
    verb(next)
        .is_some_and(|(base, form)| form == Form::Past && super::is_change_verb(base))
        .then_some(phrase.len())
}

static INTERJECTIONS: Phrases = Phrases::new(concat!(
    "good|great|perfect|excellent|nice|interesting|done|all done|ok|okay|yes|yeah|yep|no|nope|right|sure|",
    "agreed|exactly|ah|oh|hmm|hm|wait|got it|found it|fixed|bingo|indeed|correct|understood|",
    "great question|good question|good catch|good point|fair point|fair enough|of course|you're right|",
    "you are right|you're absolutely right|absolutely|makes sense|confirmed|clean|all good|looks good|",
    "nice catch|all set|success|summary|in summary|to summarize|btw|yup|thanks|sorry|i found the issue|",
    "i found the problem|i found the bug|i found the root cause|i found the cause|i've found the issue|",
    "i've found the root cause|found the issue|found the problem|found the bug|found the root cause|",
    "now i see the issue|now i understand the issue|now i can see the issue|i see the issue|",
    "i see the problem|short answer|quick answer|bottom line",
));

static CONNECTORS: Phrases = Phrases::new(concat!(
    "additionally,|honestly,|also,|finally,|however,|in addition,|furthermore,|moreover,|so,|actually,|",
    "as a result,|therefore,|specifically,|overall,|importantly,|basically,|note:|note that |",
    "please note that |keep in mind that |and |but |so |now, |now that's done,|essentially:|essentially,",
));

static SPEAKERS: Phrases = Phrases::new(concat!(
    "i've successfully |i have successfully |i've also |i have also |i've now |i've |i have |i also |i |",
    "we've |we have |we also |we |successfully ",
));

/// Reports whether a sentence describes the speaker's own steps instead of stating a fact.
pub(crate) fn is_narration(sentence: &str) -> bool {
    let lower = lower_head(sentence);
    if NARRATION.starts(&lower) || NARRATION_ANYWHERE.within(&sentence.to_lowercase()) {
        return true;
    }
    let mut words = lower.split_whitespace();
    let first = words.next().unwrap_or_default();
    let (first, told_now) = if matches!(first, "now" | "next" | "then" | "first,") {
        (words.next().unwrap_or_default(), true)
    } else {
        (first, false)
    };
    // "Fix the imports:", "Checking the logs": an order to oneself.
    match verb(first) {
        Some((_, Form::Base)) => told_now || sentence.trim_end().ends_with(':'),
        Some((_, Form::Gerund)) => told_now || sentence.split_whitespace().count() <= MAX_GERUND_NARRATION,
        _ => false,
    }
}

/// "Running the tests again": a longer sentence that starts with a gerund usually states something about it.
const MAX_GERUND_NARRATION: usize = 8;

static NARRATION: Phrases = Phrases::new(concat!(
    "looking at|looking more|there it is|i'll|i will|i'm going to|i am going to|i need to|i want to|i'm now|i can now|i now have|i now see|",
    "i now understand|i have a|i have all|i have enough|i have the|i have everything|i have what|",
    "now have|now i|now we|i see|i can see|i understand|i think i|i'm using|i'm|here's|here is|here are|",
    "below is|below are|as you can see|as requested|continuing|moving on|proceeding|time to|on to|",
    "back to|starting with|let's|first, let|first let|next, i|next i'll|next up|no response requested|",
    "ready to|ready for|what would you|what's on your mind|anything else|feel free|hope this|happy to|",
    "sounds good|waiting for|standing by|two fixes needed|two changes|three changes|you can see|",
    "you should see|you'll see|this session is being continued|the summary below|",
    "please continue the conversation|to answer your question|the files look|the file looks|",
    "everything looks|looks correct|progress|you're right|you're absolutely right|you are right|good question|",
    "good point|good catch|good thinking|great question|that's a great|that's a good|that's a much better|",
    "you raise|so yes|everything builds|it all builds|you can try it|you can now run",
));

static NARRATION_ANYWHERE: Phrases = Phrases::new("let me|let's|i'll|i will now|we'll now|i'm going to");

/// Reports whether a sentence asks or offers something.
pub(crate) fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(['*', ')', '"', ' ']).ends_with('?') || OFFERS.starts(&lower_head(sentence))
}

static OFFERS: Phrases = Phrases::new(concat!(
    "want me to|would you like|shall i|should i|let me know|do you want|tell me|please let me know|",
    "just say|if you'd like|if you want|say the word|please confirm|q:",
));

/// Reports whether a sentence only gives a verdict on a check: "All tests pass." Results belong to the checks of a hand-over.
pub(crate) fn is_verdict(sentence: &str) -> bool {
    const MAX_WORDS: usize = 14;
    if sentence.split_whitespace().nth(MAX_WORDS).is_some() {
        return false;
    }
    let lower = sentence.to_lowercase();
    let is_verdict = VERDICTS.within(&lower) || is_all_well(&lower);
    is_verdict && count_names(sentence) <= 1 && !has_cause(sentence) && !FAILURES.within(&lower)
}

/// "All tests and linting pass", "Everything is already verified and passing — 254 tests".
fn is_all_well(lower: &str) -> bool {
    let clause = lower.split([',', ';', '—', ':']).next().unwrap_or(lower);
    let last = clause.trim_end_matches(['.', '!', ' ']).rsplit(' ').next();
    (clause.starts_with("all ") || clause.starts_with("everything "))
        && last.is_some_and(|last| WELL.contains(last))
}

static WELL: Phrases =
    Phrases::new("pass|passes|passed|passing|clean|complete|completed|green|done|good|fine|resolved");

static VERDICTS: Phrases = Phrases::new(concat!(
    "working perfectly|works perfectly|working correctly|tests pass|test passes|cases pass|checks passed|tests passing|tests passed|all pass|all passing|",
    "all green|is clean|are clean|lint passes|it compiles|code compiles|compiles cleanly|builds cleanly|",
    "build passes|build succeeds|build is clean|0 issues|no issues|no errors|works correctly|",
    "works as expected|everything passes|everything works|checks pass|pushed|committed|is complete|",
    "implementation complete|review complete|refactoring complete|migration complete|all done|is done|all set|successfully pushed|working tree is clean|pass with|no lint",
));

static FAILURES: Phrases = Phrases::new("fail|fails|failed|failing|failure|failures|but|except|however|not");

/// Reports whether a sentence gives a reason, cause or consequence.
pub(crate) fn has_cause(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    CAUSES.within(&lower) || lower.contains(", so ")
}

static CAUSES: Phrases = Phrases::new(concat!(
    "because|since|due to|so that|root cause|caused by|causes|causing|cause|the reason|reason|means|",
    "meaning|which means|therefore|in order to|to avoid|to prevent|to ensure|otherwise|leads to|led to|",
    "results in|resulted in|the problem is|the problem was|the issue is|the issue was|the bug is|",
    "the bug was|the fix is|the fix was|the key insight|why|hence|so it|so the|so we|so a|so an|so its|so their|",
    "triggers|triggered",
));

/// Reports whether a sentence guesses.
pub(crate) fn is_guess(sentence: &str) -> bool {
    GUESSES.within(&sentence.to_lowercase())
}

static GUESSES: Phrases = Phrases::new(
    "maybe|perhaps|probably|possibly|presumably|likely|might be|suspect|hypothesis|i think|not sure",
);

/// Reports whether a sentence guesses, weighs a remedy or intends one: it gives no reason yet.
pub(crate) fn is_weighing(sentence: &str) -> bool {
    is_guess(sentence) || WEIGHED.within(&sentence.to_lowercase())
}

static WEIGHED: Phrases =
    Phrases::new("would be to|simplest|either|might|wait|going to|we want|need to|should");

/// Reports whether a sentence sets a limit or a contrast: the traps of a code base.
pub(crate) fn has_contrast(sentence: &str) -> bool {
    CONTRASTS.within(&sentence.to_lowercase())
}

static CONTRASTS: Phrases = Phrases::new(concat!(
    "but|instead of|instead|rather than|however|although|whereas|only|never|always|must|cannot|can't|",
    "doesn't|does not|don't|isn't|is not|aren't|won't|wasn't|weren't|didn't|fails|failed|no longer|",
    "silently|unexpectedly|actually|even though|even when|unless|without|already|not|pre-existing|stale|",
    "different|requires|needs|except",
));

/// Reports whether a user's sentence decides, forbids or demands something that outlives the request.
pub(crate) fn is_directive(sentence: &str) -> bool {
    let lower = informal(sentence);
    DIRECTIVE_STARTS.starts(strip_politeness(&lower)) || DIRECTIVES.within(&lower)
}

/// Reports whether a user's sentence instructs the agent. As an answer or in the middle of the work it steers; as a prompt it
/// is the request itself.
pub(crate) fn is_instruction(sentence: &str) -> bool {
    let lower = informal(sentence);
    INSTRUCTION_STARTS.starts(strip_politeness(&lower)) || DEMANDS.within(&lower)
}

/// Turns a stated intention into an order: "Let me fix the import:" becomes "Fix the import".
pub(crate) fn imperative(sentence: &str) -> Option<String> {
    let mut rest = sentence.trim().trim_end_matches([':', '.', ' ']);
    loop {
        let lower = lower_head(rest);
        let Some(opening) = INTENTIONS.at_start(&lower) else {
            break;
        };
        rest = rest.get(opening.len()..)?.trim_start_matches([',', ' ']);
    }
    let first = rest.split_whitespace().next()?;
    let orders = verb(first).is_some_and(|(_, form)| form == Form::Base);
    (orders && rest.split_whitespace().count() > 2).then(|| sentence_case(rest))
}

/// Reports whether a sentence announces the speaker's own next step: "Let me look at the parser."
pub(crate) fn announces_work(sentence: &str) -> bool {
    let lower = lower_head(&strip_openers(sentence));
    OWN_STEPS.starts(&lower) && !lower.contains("let me know")
}

static OWN_STEPS: Phrases = Phrases::new(concat!(
    "let me|now let me|first let me|first, let me|next, let me|i'll|i will|i'm going to|now i'll|",
    "now i will|let's start by|i need to",
));

static INTENTIONS: Phrases = Phrases::new(concat!(
    "let me|let's|now|first|next|then|also|i'll|i will|i need to|i should|i want to|i'm going to|",
    "we need to|we should|need to|so|now,|first,|next,|okay,|ok,|good.|good,|please|just|and|go ahead and",
));

/// Normalizes the way people type: "lets", "dont", curly apostrophes.
fn informal(sentence: &str) -> String {
    let lower = sentence.replace('’', "'").to_lowercase();
    lower
        .replace("lets ", "let's ")
        .replace("dont ", "don't ")
        .replace("shouldnt ", "shouldn't ")
}

fn strip_politeness(lower: &str) -> &str {
    let mut rest = lower.trim_start();
    while let Some(word) = POLITENESS.at_start(rest) {
        rest = rest[word.len()..]
            .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | '-' | '—' | '!'));
    }
    rest
}

static POLITENESS: Phrases = Phrases::new(concat!(
    "please|oh|ok|okay|yes|yeah|no|hmm|actually|also|and|but|so|well|wait|i think|btw|sorry|right|sure|",
    "great|good|nice|cool|ah|just|then|for now|yep",
));

static DIRECTIVE_STARTS: Phrases = Phrases::new(concat!(
    "don't|do not|never|always|let's not|let's go with|let's use|let's keep|let's stick|prefer|avoid|",
    "stop|no need|go with|stick with|make sure|remember|from now on|in future|in the future|we shouldn't|",
    "we must|we use|we don't|we never|we always|we decided|it shouldn't|it must|i don't want|i'd rather|",
    "i would rather|i'd prefer|i prefer",
));

static INSTRUCTION_STARTS: Phrases = Phrases::new(concat!(
    "use|keep|leave|ignore|skip|only|not|drop|ensure|we should|we need|we want|it should|that should|",
    "there should|i'd go|option|the second|the first|make|put|remove|rename|move",
));

/// Wording of a decision or rule, in any message.
static DIRECTIVES: Phrases = Phrases::new(concat!(
    "should not|shouldn't|must not|should only|should never|should always|not allowed|we decided|",
    "i decided|decided to|decision is|agreed to|out of scope|doesn't make sense|makes no sense|",
    "don't want|prefer to|would rather|backward compat|backwards compat|not worth|we can ignore|",
    "don't worry",
));

/// Wording of a demand: part of the request in a prompt, a decision in an answer.
static DEMANDS: Phrases = Phrases::new(concat!(
    "instead of|rather than|must be|needs to be|should be|has to|have to|is required|are required|",
    "want to keep|as long as|at most|at least|no backward|in a separate|separate pr|won't",
));

/// A statement that leaves work open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deferral {
    /// Something that could be done: "could be simplified later".
    Suggested,
    /// Something to do next: "you still need to add the key". It is often done in the next turn.
    Next,
    /// Something that was put off on purpose: "out of scope, needs a follow-up".
    PutOff,
}

/// Classifies a sentence that leaves work open.
pub(crate) fn deferral(sentence: &str) -> Option<Deferral> {
    let lower = sentence.replace('’', "'").to_lowercase();
    if PUT_OFF.within(&lower) {
        Some(Deferral::PutOff)
    } else if TO_DO.within(&lower) {
        Some(Deferral::Next)
    } else if SUGGESTED.within(&lower) {
        Some(Deferral::Suggested)
    } else {
        None
    }
}

static PUT_OFF: Phrases = Phrases::new(concat!(
    "deferred to|deferred until|deferred for|is deferred|was deferred|deferred as|deferring|postponed|",
    "out of scope|follow-up|followup|follow up|for later|later pr|separate pr|separate issue|",
    "separate ticket|future pr|future work|not addressed|remaining issue|remaining concern|known issue|",
    "known limitation|left as is|left unfixed|is still open|remains open|open question|unfinished|",
    "not finished|not implemented|not yet implemented|not yet supported|should be removed|",
    "will need to be|still accumulates|not looked at|haven't looked|did not look at|didn't look at|not touched|",
    "haven't touched|didn't touch|did not touch",
));

static TO_DO: Phrases = Phrases::new(concat!(
    "still to do|still todo|todo:|to-do|remaining work|remaining task|remaining tasks|remaining steps|",
    "remaining:|remains to|what's left|what is left|left to do|still need|still needs|still missing|",
    "not yet done|yet to be|not done yet|next i would|next i'd|next, i would|next, i'd|next step|",
    "next steps|you need to|you'll need to|you still|blocked on|blocked by|outstanding|needs review|",
    "untested|not tested|not verified|unverified|before merging|after merging|once merged|",
    "once it is merged|after the merge|has not been implemented|hasn't been implemented|",
    "has not been tested|hasn't been tested|hasn't been pushed|haven't been pushed|not been committed|",
    "not been pushed|try running|try it now|try it again|please run|please rebuild|please test|run it again|give it a try",
));

static SUGGESTED: Phrases = Phrases::new(concat!(
    "could be|could also|consider|worth adding|worth noting|worth fixing|worth checking|might want to|",
    "may want to|would be nice|nice to have|optionally|low priority|medium priority|eventually|",
    "in the future|pre-existing|investigate|recommend|recommended|ideally|long-term|long term",
));

/// Reports whether a sentence starts with a word that points outside of it.
pub(crate) fn opens_with_pronoun(sentence: &str) -> bool {
    let first = sentence
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_end_matches([',', ':'])
        .replace('’', "'")
        .to_lowercase();
    PRONOUNS.contains(first.as_str())
}

static PRONOUNS: Phrases = Phrases::new(concat!(
    "this|that|these|those|it|its|it's|they|their|he|she|both|same|such|which|here|there|that's|there's|",
    "they're|i|i'm|i've|we|we're|our|you|your|you're|my|neither|either|also|then|otherwise|so|and|but|or|",
    "instead|because|one|another|others|all|yes|no|not|what",
));

/// Reports whether a sentence names what it is about: a name of code, a proper noun or a number.
pub(crate) fn names_subject(sentence: &str) -> bool {
    const MIN_CHANGE_WORDS: usize = 6;
    let words = sentence.split_whitespace().count();
    // A change of behavior has the subject that behaves, a report of a change its object.
    count_names(sentence) > 0
        || NEW_STATES.within(&sentence.to_lowercase())
        || (words >= MIN_CHANGE_WORDS && opens_with_change(sentence))
        || sentence.split_whitespace().skip(1).any(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            is_name(word)
                || (word.chars().count() > 1 && word.starts_with(|c: char| c.is_uppercase()))
                || word.bytes().any(|b| b.is_ascii_digit())
        })
}

static NEW_STATES: Phrases = Phrases::new("now|no longer");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fillers_are_stripped() {
        for (given, wanted) in [
            (
                "Good - the duplicate helpers are unused.",
                "The duplicate helpers are unused.",
            ),
            ("Good — I've added `x` to the list.", "Added `x` to the list."),
            ("Perfect! Done. The cache is gone.", "The cache is gone."),
            ("Good tests need time.", "Good tests need time."),
            ("Yes, exactly. It works.", "It works."),
            ("Good.", ""),
        ] {
            assert_eq!(strip_openers(given), wanted, "{given}");
        }
    }

    #[test]
    fn narration_differs_from_statements() {
        for narration in [
            "Good - I have enough context now",
            "Now have all the version information needed",
            "Let me check the tests.",
            "Now update the docs.",
            "Fix the imports:",
            "Running the tests again.",
        ] {
            assert!(
                is_narration(&strip_openers(narration)) || is_narration(narration),
                "{narration}"
            );
        }
        for statement in [
            "The worker retries three times.",
            "Running `mise run test` alone does not cover the integration tests because of the build tag.",
            "Added `retry` to the worker.",
        ] {
            assert!(!is_narration(statement), "{statement}");
        }
    }

    #[test]
    fn a_verdict_on_all_checks_differs_from_a_statement_about_all() {
        assert!(is_verdict("All tests and linting pass."));
        assert!(is_verdict("Everything is green — 254 tests."));
        assert!(!is_verdict("All workers share one queue."));
        assert!(!is_verdict("All tests and linting pass, but `load` is slow."));
    }

    #[test]
    fn a_guess_differs_from_a_risk() {
        assert!(is_guess("The driver is probably too old."));
        assert!(is_guess("I think `parse` runs twice."));
        assert!(!is_guess("Without the lock two workers might write at once."));
        assert!(!is_guess("A branch may be deleted while its session stays."));
    }

    #[test]
    fn directives_of_the_user_are_recognized() {
        for directive in [
            "oh, please don't amend commits - it messes with our workflow",
            "We decided to use Postgres instead of MySQL because we need JSONB indexes.",
            "it doesn't make sense to commit in a broken state",
            "Let's go with the API key",
        ] {
            assert!(is_directive(directive), "{directive}");
        }
        for other in [
            "Why does the worker retry?",
            "commit this, push, open draft PR",
            "thanks, works",
        ] {
            assert!(!is_directive(other), "{other}");
        }
    }

    #[test]
    fn open_work_is_recognized() {
        assert_eq!(deferral("Still to do: the migration"), Some(Deferral::Next));
        assert_eq!(deferral("What's left: docs"), Some(Deferral::Next));
        assert_eq!(deferral("Next I would move the parser."), Some(Deferral::Next));
        assert_eq!(deferral("The parser is out of scope."), Some(Deferral::PutOff));
        assert_eq!(deferral("The parser could be split."), Some(Deferral::Suggested));
        assert_eq!(deferral("Open the settings page shows the toggle."), None);
    }
}
