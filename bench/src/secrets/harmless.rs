//! Hashes and ids: random, but no secrets.

use super::formats::{characters, filled};
use crate::random::Random;

/// Notations of hashes and ids in the output of tools, formats as in [`super::formats::FORMATS`].
const IDS: &[&str] = &[
    "commit {h40}",
    "{h7} Merge branch 'main'",
    "index {h7}..{h7} 100644",
    "HEAD is now at {h12} tidy up",
    "sha256:{h64}",
    "\"integrity\": \"sha512-{b86}==\"",
    "checksum = \"{h64}\"",
    "{h64}  backstory.tar.gz",
    "md5: {h32}",
    "ETag: \"{h32}\"",
    "{U}",
    "\"session_id\": \"{U}\"",
    "\"id\": \"{U}\",",
    "request_id={U}",
    "trace_id={h32} span_id={h16}",
    "traceparent: 00-{h32}-{h16}-01",
    "\"tool_use_id\":\"toolu_{A24}\"",
    "\"id\": \"msg_{A24}\"",
    "X-Request-Id: {U}",
    "docker run {h12}",
    "Successfully built {h12}",
    "pod/api-{h10}-{a5} 1/1 Running",
    "arn:aws:iam::{d12}:role/deploy",
    "i-{h17}",
    "sg-{h17} vpc-{h17}",
    "target/debug/deps/backstory-{h16}.d",
    "/nix/store/{a32}-openssl-3.0",
    "app.{h8}.js  12.3 kB",
    "uuid = \"{U}\"",
    "from commit {h40} to {h40}",
    "build {h40} passed in 12 s",
    "object {h40}",
    "blob {h40} 1234",
    "cache key: linux-cargo-{h64}",
    "revision: {h40}",
    "\"sha\": \"{h40}\"",
    "\"digest\": \"sha256:{h64}\"",
    "Fingerprint: SHA256:{b43}",
    "page 3 of result {d12}",
    "nonce {h24} block {d9}",
];

/// Returns 2,400 lines with hashes and ids.
pub(super) fn ids(random: &mut Random) -> Vec<String> {
    let mut lines = Vec::new();
    for round in 0..60 {
        for format in IDS {
            let line = filled(format, random);
            lines.push(if round % 2 == 0 {
                line
            } else {
                format!("{} {line}", characters("d", 3, random))
            });
        }
    }
    lines
}
