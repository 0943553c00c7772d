//! The sizes that both sides enforce.

/// The most records of one push.
pub const MAX_PUSH_RECORDS: usize = 200;

/// The most bytes of a request with a stream, as they are sent.
pub const MAX_STREAM_BYTES: usize = 1 << 20;

/// The most bytes of one request or one page of an answer, inflated.
pub const MAX_INFLATED_BYTES: usize = 8 << 20;

/// The most bytes of the body of a record, as JSON.
pub const MAX_BODY_BYTES: usize = 64 << 10;

/// The most bytes of a JSON request that is no stream.
pub const MAX_JSON_BYTES: usize = 256 << 10;

/// The most records of one page of an answer.
pub const MAX_PULL_RECORDS: usize = 500;

/// The longest time that a pull waits for news, in seconds.
pub const MAX_WAIT_SECONDS: u64 = 25;

/// The most bytes of a project's key or of a name.
pub const MAX_NAME_BYTES: usize = 512;

/// The most terms of a search.
pub const MAX_SEARCH_TERMS: usize = 32;

/// The most ids in one request to forget.
pub const MAX_FORGET_IDS: usize = 1_000;
