//! Prints the run time of encoding and searching on this machine, on one core.

#![expect(clippy::print_stdout, reason = "it prints its result")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use backstory_embed::{DIMENSIONS, Encoder, Stored, nearest, quantize, sign_bits};

const TEXT: &str = "Retry the upload when the server closes the connection early; \
    see fn sendChunk() in src/upload/client.rs and its test. ";

fn main() {
    let mut encoder = None;
    println!(
        "{:28} {:>9.3} ms",
        "make an encoder",
        milliseconds(time(|| encoder = Some(Encoder::new())))
    );
    let mut encoder = encoder.unwrap_or_default();
    let first = time(|| {
        black_box(encoder.encode("retry the upload on 503", 32));
    });
    println!("{:28} {:>9.3} ms", "first text, 8 tokens", milliseconds(first));
    println!("\n{:28} {:>12} {:>12}", "", "least", "median");
    let text = TEXT.repeat(30);
    for tokens in [8, 16, 32, 64, 128, 256] {
        report(&format!("encode {tokens} tokens"), 6_000 / tokens, || {
            black_box(encoder.encode(&text, tokens));
        });
    }
    let million = Vectors::new(&mut encoder, 1_000_000);
    let query = encoder.encode("why does the upload fail behind a proxy", 32);
    for count in [10_000, 60_000, 100_000, 1_000_000] {
        let stored = million.first(count);
        report(&format!("50 nearest of {count}"), 100, || {
            black_box(nearest(&query, stored, 50, |_| true));
        });
        report("  one in a hundred kept", 50, || {
            black_box(nearest(&query, stored, 50, |position| position % 100 == 7));
        });
    }
}

/// Vectors of made-up sentences, each many times with noise.
struct Vectors {
    signs: Vec<[u8; DIMENSIONS / 8]>,
    bytes: Vec<[u8; DIMENSIONS]>,
    scales: Vec<[u8; 4]>,
}

impl Vectors {
    fn new(encoder: &mut Encoder, count: usize) -> Self {
        let mut sentences = Vec::new();
        for verb in ["fix", "remove", "document", "speed up", "test", "rename", "retry"] {
            for noun in [
                "upload",
                "login form",
                "SQL query",
                "parser",
                "cache",
                "release script",
                "color of errors",
            ] {
                for place in [
                    "on Windows",
                    "in the worker",
                    "behind a proxy",
                    "for large files",
                    "when offline",
                ] {
                    sentences.push(encoder.encode(&format!("{verb} the {noun} {place}"), 32));
                }
            }
        }
        let mut state = 1_u64;
        let mut noise = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((state >> 40) as f32 / (1 << 23) as f32 - 1.0) * 0.06
        };
        let mut all = Self {
            signs: Vec::with_capacity(count),
            bytes: Vec::with_capacity(count),
            scales: Vec::with_capacity(count),
        };
        for sentence in sentences.iter().cycle().take(count) {
            let vector = sentence.map(|value| value + noise());
            let stored = quantize(&vector);
            all.signs.push(sign_bits(&vector));
            all.bytes.push(stored.bytes);
            all.scales.push(stored.scale.to_le_bytes());
        }
        all
    }

    fn first(&self, count: usize) -> Stored<'_> {
        Stored {
            signs: &self.signs[..count],
            bytes: &self.bytes[..count],
            scales: &self.scales[..count],
        }
    }
}

fn report(name: &str, runs: usize, mut work: impl FnMut()) {
    work();
    let mut times: Vec<Duration> = (0..runs).map(|_| time(&mut work)).collect();
    times.sort_unstable();
    let (least, median) = (milliseconds(times[0]), milliseconds(times[runs / 2]));
    println!("{name:28} {least:>9.3} ms {median:>9.3} ms");
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
