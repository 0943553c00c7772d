//! The words by which sentences are told apart: those that one begins with, and those that stand anywhere in it.
//!
//! In lower case, with bars between them.

/// Begins what is to be noted.
pub(super) const REMARKS: &str = "note that |keep in mind that |bear in mind that |be aware that ";

/// Begins what says nothing.
pub(super) const FILLER_STARTS: &str = "\
    found the issue.|found the bug.|found it|i found the issue.|i found the bug.|found the issue!|i found it|here's a|here is a|here's what|here's the|here is the|here are|now i can see|\
    now i understand the issue.|i can see|i see.|i understand|the changes are|the key changes are|\
    summary of|the patch|a patch|the output file|all done|everything is|hope this|feel free|\
    if you have any|is there anything|good progress|i hope|sure|of course|certainly|you're right|\
    thanks|thank you|sorry|i apologize|this fix is minimal|the fix is minimal|the fix is simple|\
    this is a minimal|the solution is minimal|files modified|files changed|as required|for example:|\
    changed:|before:|after:|to:|from:|the output now shows|the following|this includes|good point|\
    great question";

/// Stands in a short sentence that says nothing.
pub(super) const FILLER_PHRASES: &str = "\
    summary of what|summary of the changes|fix works|fix is working|works correctly now|\
    fix looks good|working as expected|the bug is clear|ready for review|ready for use|ready to use|\
    ready to go|patch has been saved|has been saved to|been cleaned up|what was done|what i did|\
    as per the instructions|as instructed|todo list|successfully fixed the bug.|fixed the bug.|\
    the fix is correct|let me know|the task is complete|task is complete|is complete and|\
    the following changes";

/// Begins what the agent is about to do.
pub(super) const PLANS: &str = "\
    let me|let's|let us|i'll|i’ll|i will|i need to|i'm going to|i am going to|i should|i want to|\
    i'd like|i have to|i'm now|i am now|we need to|we should|we'll|we will|we can|now i |now i'|now let|\
    now we|now, let|now, i|now to|now that|now for|now fix|now update|now add|now run|now the |\
    next,|next i |first,|first i |first let|time to|going to|to fix this|to do this|i can|i could|\
    i think i|i'm about|i was|i am|i'm|then i|then let|before i|wait|hmm|maybe|perhaps|starting|\
    looking at|checking|running|the fix is to|the fix should|the fix would|the solution is to|\
    one option|another option|a better approach would|it would be|i see the|i see that there";

/// Stands in what is left to do.
pub(super) const NEXT: &str = "\
    next step|next steps|remaining work|still needs|still need to|still have to|left to do|not yet implemented|not yet done|not yet supported|is not yet|are not yet|\
    yet to be|follow-up|you may want to|you might want to|you'll need to|you will need to|\
    you should|you can now|i haven't|i have not|todo:|to be done|remains to|would be a good next|\
    in a future|needs to be done|out of scope";

/// Stands in what did not work.
pub(super) const FAILED: &str = "\
    didn't work|did not work|doesn't work|does not work|didn't help|did not help|still fails|\
    still failing|still fail|that broke|this broke|which broke|reverted|reverting|rolled back|\
    gave up|abandoned|failed attempt|dead end|didn't fix|did not fix|doesn't fix|made it worse|\
    no effect|had no effect|backed out|undid";

/// Stands in what is open or to beware of.
pub(super) const PROBLEMS: &str = "\
    pre-existing|preexisting|known issue|unrelated failure|unrelated to|could not|couldn't|\
    unable to|not supported yet|limitation|caveat|be careful|beware|workaround|flaky|not tested|\
    untested|wasn't able|was not able";

/// Begins what was chosen.
pub(super) const DECIDED: &str = "\
    i'd use|i would use|i'd go with|i would go with|i recommend|i'd recommend|i suggest|i chose|i decided|i opted|i went with|i picked|i kept|i left|i used|i prefer|we chose|\
    we decided|decided to|chose |opted |went with|the decision|deliberately|i deliberately|\
    i intentionally|intentionally|i avoided|i did not|i didn't|kept |i rejected|we rejected|rejected |we agreed|agreed |\
    i ruled out|we ruled out|ruled out |we left|we kept|we opted|we went with|we picked|decided ";

/// Begins what was wrong, and why.
pub(super) const CAUSES: &str = "\
    the issue is|the issue was|the problem is|the problem was|the bug is|the bug was|the root cause|\
    the cause|root cause|this happened because|this happens because|the reason|this is because|\
    this was because|the error is|the error was|the failure is|the failure was|it fails because|\
    the culprit|i found the issue|i found the bug|i found the problem|i found the root cause|found the issue|found the bug|found the root cause|this caused|this causes|the bug occurs|the bug occurred|\
    the real issue|the real problem|the actual issue|the actual problem|the underlying";
