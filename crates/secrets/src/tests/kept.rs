//! Texts without a secret, mostly source code: a false hit makes a memory useless.

use super::{assert_all, embedded, escaped, plain};

const KEPT: &[&str] = &[
    // Code.
    "token = parser.next_token()",
    "password: str",
    "    password: string;",
    "password?: string",
    "let token: Token = lexer.next()?;",
    "password = os.environ[\"DB_PASSWORD\"]",
    "const k = process.env.API_KEY;",
    "apiKey: process.env.API_KEY,",
    "password=os.getenv(\"DB_PASSWORD\")",
    "import { token } from '@x/y'",
    "def login(user, password):",
    "fn auth(token: &str) -> bool {",
    "password_hash = hash(password)",
    "let t = AuthToken::new();",
    "password: Option<String>,",
    "password: newPassword,",
    "connect(user=user, password=password)",
    "this.password = password;",
    "self.token = token",
    "secret: [u8; 32],",
    "let secret = rng.gen::<u64>();",
    "if (password !== confirmPassword) {",
    "password: z.string().min(8),",
    "assert_eq!(token, Token::Ident);",
    "case token: return 1;",
    "const ACCESS_TOKEN_TTL: Duration = Duration::from_secs(1024);",
    "pub const SECRET: u32 = 1073742271;",
    "use crate::auth::token;",
    "key = self.key_for(user)",
    "for (key, value) in map.iter() {",
    "secretName: regcred",
    "type: password",
    "<input type=\"password\" id=\"password\" class=\"form-control\">",
    "<Password>{value}</Password>",
    "[\"username\", \"password\", \"email\"]",
    "data-token-name=\"a-b-c-d-e-f-g-h-i-j\"",
    "if begins_with(\"-----BEGIN RSA PRIVATE KEY-----\") { return Err(Error::PrivateKey); }",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    // References and placeholders.
    "DB_PASSWORD=${DB_PASSWORD}",
    "password: $TOKEN",
    "password: ${{ secrets.DB_PASSWORD }}",
    "password: \"{{ secret }}\"",
    "api_key = \"<your-api-key>\"",
    "API_KEY=YOUR_API_KEY",
    "API_KEY=your-api-key-goes-here-1",
    "password: xxxx",
    "password: \"****\"",
    "password: example",
    "\"password\": null",
    "password = None",
    "password: true",
    "password: undefined",
    "password: \"\"",
    "PASSWORD=",
    "TOKEN=$(cat token.txt)",
    "password: \"[redacted:password]\"",
    "password_file: /run/secrets/db",
    "DB_PASSWORD=/run/secrets/db",
    "--password <PASSWORD>",
    "--password string   the password",
    "--password \"$PASS\"",
    "use the --password flag instead",
    "tool --password-stdin --token-file a.txt",
    "curl -u user:$PASS https://a.b",
    "curl -u \"$USER:$PASS\" https://a.b",
    "mysql -u root -p db",
    "docker run -u 1000:1000 -p 8080:80 nginx",
    "Authorization: Bearer <token>",
    "Authorization: Bearer ${TOKEN}",
    "`Bearer ${token}`",
    "\"Authorization\": \"Bearer \" + token,",
    "postgres://user:${PW}@localhost/db",
    "postgres://user:<password>@localhost/db",
    "f\"postgres://{user}:{password}@{host}/db\"",
    "printf(\"%s://%s:%s@%s\", a, b, c, d)",
    // Numbers, names, identifiers.
    "tokens: 1523",
    "max_tokens=4096",
    "\"total_tokens\": 123456789012345678,",
    "token_count = 12",
    "cache_key = \"user:profile\"",
    "cache_key = \"0f8Hq2Lz7Vx1Pm5Rt9Yw\"",
    "primary_key=True",
    "key: \"name\"",
    "a sort key and a partition key",
    "\"public_key\": \"0f8Hq2Lz7Vx1Pm5Rt9Yw0f8Hq2Lz7Vx1Pm5Rt9Yw\"",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host",
    "commit 3f2a9c418b7d4e6f9a0123456789abcdef012345",
    "\"session_id\":\"3f2a9c41-8b7d-4e6f-9a01-23456789abcd\"",
    "\"tool_use_id\":\"toolu_01A09q90qw90lq917835lq9\"",
    "\"prompt_id\":\"0f8Hq2Lz7Vx1Pm5Rt9Yw\"",
    "\"integrity\": \"sha512-WKTuxvTJpw7sGnkbkGQ8Wz9tFTFyZ1Yv0Y5Yk0l2k4Yp5FvYh0Vf6mYd5w==\"",
    "checksum = \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "token: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "name = \"password-hash\"\nversion = \"0.5.0\"\nchecksum = \"0123456789abcdef0123456789abcdef\"",
    "http://localhost:8080/@scope",
    "https://registry.npmjs.org/@types/node/-/node-20.1.0.tgz",
    "git@github.com:owner/repo.git",
    "ssh://git@github.com/owner/repo.git",
    "scp file user@host:path",
    "me@example.com",
    "https://example.com:8080?to=a@b.c",
    "let data = \"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ\";",
    "PWD=/home/me/work",
    "SgAiAHNgIADPkCCyACQQABIARHBEADQCABLQAAQYA+ai0AACIAQ",
    "getpass(prompt='Password: ', stream=None)",
    "input(\"Enter password: \")",
    "\"minipass\": \"^7.1.3\"",
    "def sign(key: str, secret: str):",
    "Cookie: theme=dark; lang=en-US",
    "sk-folding-cube-animation-delay-long",
    "task-0f8Hq2Lz7Vx1Pm5Rt9Yw",
    "size_of_val_in_the_buffer_of_this_thing",
    "npm_config_registry=https://registry.npmjs.org/",
    "pypi-publish-workflow-for-the-release-of-it",
    "credentials: 'include'",
    "auth: basic",
    "\"Key\": \"uploads/2024/01/report-final.pdf\"",
    "PWD=/home/me/work;OLDPWD=/",
    "(alias|pass|print|times)",
    "user, password, host = parse(url)",
    "    user, password,\n    a, b",
    "certificate: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUR6VENDQXJXZ0F3SUJBZ0lV",
    "password || defaultPassword",
    "if password ?? true {",
    // Prose.
    "the password is checked twice",
    "token expired",
    "Password: must be at least 8 characters",
    "password: \"Password must be at least 8 characters\"",
    "The `password` field, the \"secret\" one, and the key: all are required.",
    "a capture group identified by `property_name`",
    ":param password: the user's password",
    "tests: 12 pass: 1200 fail: 0",
];

#[test]
fn texts_without_a_secret_are_unchanged() {
    assert_all(KEPT.iter().map(|text| (plain(text), (*text).to_owned())));
    assert_all(
        KEPT.iter()
            .map(|text| embedded(text))
            .map(|text| (plain(&text), text)),
    );
}

#[test]
fn texts_without_a_secret_are_unchanged_in_json() {
    assert_all(
        KEPT.iter()
            .map(|text| escaped(text))
            .map(|text| (plain(&text), text)),
    );
    assert_all(
        KEPT.iter()
            .map(|text| escaped(&embedded(text)))
            .map(|text| (plain(&text), text)),
    );
    assert_all(
        KEPT.iter()
            .map(|text| escaped(&escaped(text)))
            .map(|text| (plain(&text), text)),
    );
}
