//! Texts of the reference vectors, in the order of `reference.i16`.

/// Lists the texts.
pub(crate) fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " \t\r\n ",
        "fix token refresh on 401",
        "rain in Lisbon",
        "Why does the worker restart twice after an upgrade?",
        "fn readHeader(&mut self) -> Result<HTTPHeader, ParseError> { self.buf.fill_buf()?.first() }",
        "XMLHttpRequest2 parseURLFromV2Response snake_case_name SCREAMING_CONSTANT kebab-case iPhone15Pro",
        "error[E0382]: borrow of moved value: `guard` --> src/lock.rs:41:9",
        "select id, title from memory where project = ?1 order by created desc limit 20;",
        "Déjà vu: naïve façade, Ångström, œuvre, İstanbul, Łódź, ĐẶNG, e\u{301}cole",
        "データベースの接続が切れたときに再試行する",
        "修复登录页面在移动设备上的布局问题",
        "Почему тест падает только на сборочном сервере?",
        "🦀🚀✨ 👩‍👩‍👧‍👦 🇵🇹",
        "a\0b\u{1}c \u{fffd} zero\u{200b}width \u{feff}mark",
        "$ cargo test -- --nocapture && git push origin HEAD:refs/for/main # 100% <ok>",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "The cache key did not hold the compiler's version, so that a new toolchain was served what the old one had \
         built. Now it does, and a test builds with two of them. Old entries are left to expire.",
    ]
    .map(str::to_owned)
    .into();
    texts.push("x".repeat(10_000));
    texts.push(
        "The retry loop waited twice as long after each failure, up to a minute, and never gave up. "
            .repeat(110)
            .chars()
            .take(10_000)
            .collect(),
    );
    texts
}
