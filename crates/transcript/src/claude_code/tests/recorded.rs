//! Tests on transcripts recorded from a real client.

use super::*;

/// Compares the records of a file, with ids and long lines shortened, and the number of echoes.
#[track_caller]
fn check(name: &str, expected: &str, echoes: u64) {
    let path = format!(
        "{}/../../testdata/claude-code/2.1.325/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let (records, skipped) = read(&std::fs::read(path).unwrap());
    let short = |line: &str| {
        let line: String = line.replace("0000000000", "").chars().take(100).collect();
        line.trim_end().to_owned() + "\n"
    };
    let rendered: String = shown(&records).lines().map(short).collect();
    assert_eq!(rendered, expected);
    let nothing_else = Skipped {
        echoes,
        ..Skipped::default()
    };
    assert_eq!(skipped, nothing_else);
}

#[test]
fn a_session_with_many_tools_a_continuation_and_a_resume() {
    check("transcript.jsonl", TOUR, 0);
}

#[test]
fn a_session_with_two_compactions() {
    check("transcript.compacted.jsonl", COMPACTED, 4);
}

#[test]
fn hook_output_is_skipped() {
    check("transcript.hooks.jsonl", HOOKS, 33);
}

#[test]
fn the_file_of_a_sub_agent() {
    check("transcript.subagent.jsonl", AGENT, 0);
}

const TOUR: &str = r#"facts 00000000-0000-4000-8000-01 /home/dev/acme main 2.1.325 - -
prompt Take the tour.
facts 00000000-0000-4000-8000-01 /home/dev/acme main 2.1.325 claude-opus-5-5 -
prose Writing.
use toolu_0001 Write {"file_path":"/home/dev/acme/src/new.py","content":"x = 1\n"}
result toolu_0001 ok File created successfully at: /home/dev/acme/src/new.py (file state is current
prose Reading.
use toolu_0002 Read {"file_path":"/home/dev/acme/src/app.py"}
result toolu_0002 ok 1	def add(a, b):⏎2	    return a + b⏎3 | {"type":"text","file":{"filePath":"/hom
prose Editing.
use toolu_0003 Edit {"replace_all":false,"file_path":"/home/dev/acme/src/app.py","old_string":"a + b
result toolu_0003 ok The file /home/dev/acme/src/app.py has been updated successfully. (file state i
prose Two at once.
use toolu_0004 Bash {"command":"ls src && echo ok","description":"List sources"}
use toolu_0005 Bash {"command":"grep -rn return src","description":"Search"}
result toolu_0004 ok app.py⏎new.py⏎ok | {"stdout":"app.py\nnew.py\nok","stderr":"","interrupted":fal
result toolu_0005 ok src/app.py:2:    return b + a | {"stdout":"src/app.py:2:    return b + a","stde
prose A shell edit.
use toolu_0006 Bash {"command":"echo more >> README.md","description":"Append"}
result toolu_0006 ok (Bash completed with no output) | {"stdout":"","stderr":"","interrupted":false,
prose A failure.
use toolu_0007 Bash {"command":"echo oops >&2; exit 3","description":"Fails"}
result toolu_0007 error Exit code 3⏎oops | "Error: Exit code 3\noops"
prose A refused edit.
use toolu_0008 Edit {"replace_all":false,"file_path":"/home/dev/acme/src/app.py","old_string":"not t
result toolu_0008 error <tool_use_error>String to replace not found in file.⏎String: not there</tool
prose A missing file.
use toolu_0009 Read {"file_path":"/home/dev/acme/nope.txt"}
result toolu_0009 error File does not exist. Note: your current working directory is /home/dev/acme.
prose MCP.
use toolu_0010 mcp__dummy__search {"query":"auth"}
result toolu_0010 ok found: {"query": "auth"} | [{"type":"text","text":"found: {\"query\": \"auth\"}
prose MCP failure.
use toolu_0011 mcp__dummy__fail {}
result toolu_0011 error scripted MCP failure⏎⏎This tool's input schema was not in your prompt when y
prose A subagent.
use toolu_0012 Agent {"description":"Count files","prompt":"Count the files.","subagent_type":"gener
result toolu_0012 ok [Subagent hand-back] The text below is the final report of a subagent this sess
prose Moving.
use toolu_0014 Bash {"command":"cd src && pwd","description":"Move"}
facts 00000000-0000-4000-8000-01 /home/dev/acme/src main 2.1.325 claude-opus-5-5 -
result toolu_0014 ok /home/dev/acme/src | {"stdout":"/home/dev/acme/src","stderr":"","interrupted":f
prose The tour is complete.
facts 00000000-0000-4000-8000-01 /home/dev/acme main 2.1.325 claude-opus-5-5 -
prompt And again.
prose Continued.
prompt Resumed by id.
prose Resumed.
"#;

const COMPACTED: &str = r#"facts 00000000-0000-4000-8000-01 /home/dev/acme main 2.1.325 - -
prompt Hello.
facts 00000000-0000-4000-8000-01 /home/dev/acme main 2.1.325 claude-opus-5-5 -
prose One.
compaction This session is being continued from a previous conversation<elided 725 chars>
prompt After.
prose b
use toolu_0001 Bash {"command":"echo one"}
result toolu_0001 ok one | {"stdout":"one","stderr":"","interrupted":false,"isImage":false,"noOutput
compaction This session is being continued from a previous conversation<elided 729 chars>
prose Two.
"#;

const HOOKS: &str = r#"facts 00000000-0000-4000-8000-01 /home/dev/acme main 2.1.325 - -
prompt Go.
facts 00000000-0000-4000-8000-01 /home/dev/acme main 2.1.325 claude-opus-5-5 -
prose w
use toolu_0001 Write {"file_path":"/home/dev/acme/n.txt","content":"x"}
result toolu_0001 ok File created successfully at: /home/dev/acme/n.txt (file state is current in yo
prose f
use toolu_0002 Bash {"command":"exit 4"}
result toolu_0002 error Exit code 4 | "Error: Exit code 4"
prose a
use toolu_0003 Agent {"description":"d","prompt":"p","subagent_type":"general-purpose","run_in_backg
result toolu_0003 ok [Subagent hand-back] The text below is the final report of a subagent this sess
prose Done.
"#;

const AGENT: &str = r#"(a000001) notice Count the files.
(a000001) prose Counting.
(a000001) use toolu_0013 Bash {"command":"ls | wc -l","description":"Count"}
(a000001) result toolu_0013 ok 4 | -
(a000001) prose There are 4 files.
"#;
