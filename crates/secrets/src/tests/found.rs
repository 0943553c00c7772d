//! Texts with a secret. `«…»` marks the part to redact; the rest must stay.

use super::{assert_all, embedded, escaped, plain};

/// Kind and text, with the secret marked.
const SECRETS: &[(&str, &str)] = &[
    // Vendors' tokens.
    ("aws-access-key", "aws s3 ls # «AKIAIOSFODNN7ABCDEFG»"),
    ("aws-access-key", "id: «ASIAIOSFODNN7ABCDEFG»,"),
    (
        "github-token",
        "git clone «ghp_16C7e42F292c6912E7710c838347Ae178B4a»",
    ),
    ("github-token", "«gho_16C7e42F292c6912E7710c838347Ae178B4a»"),
    ("github-token", "x=«ghu_16C7e42F292c6912E7710c838347Ae178B4a»"),
    ("github-token", "(«ghs_16C7e42F292c6912E7710c838347Ae178B4a»)"),
    ("github-token", "«ghr_16C7e42F292c6912E7710c838347Ae178B4a» end"),
    (
        "github-token",
        "«github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789»",
    ),
    ("gitlab-token", "«glpat-xYz12345AbCdEfGhIjKl»"),
    (
        "slack-token",
        "«xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx»",
    ),
    ("slack-token", "«xoxp-1234-5678-abcdef»"),
    ("slack-token", "«xapp-1-A0123-456-abcdef»"),
    (
        "slack-webhook",
        "https://«hooks.slack.com/services/T00000000/B00000000/XXXXabcdXXXXefghXXXX1234»",
    ),
    ("openai-key", "«sk-proj-AbCd1234EfGh5678IjKl_mnop-QRST»"),
    ("openai-key", "OpenAI(«sk-T3BlbkFJ8s7d6f5g4h3j2k1l0q9w8e7r»)"),
    ("anthropic-key", "«sk-ant-api03-AbCdEfGhIjKlMnOpQr-stuv_wxyz»"),
    ("stripe-key", "«sk_live_51H8abcdEFGHijkl»"),
    ("stripe-key", "«sk_test_51H8abcdEFGHijkl»"),
    ("stripe-key", "«rk_live_51H8abcdEFGHijkl»"),
    ("webhook-secret", "«whsec_abcdEFGHijklMNOPqrst»"),
    ("google-api-key", "?v=1 «AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY»"),
    ("google-token", "«ya29.a0AfH6SMBx1234567890abcdef»"),
    ("google-client-secret", "«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»"),
    ("npm-token", "«npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789»"),
    (
        "pypi-token",
        "«pypi-AgEIcHlwaS5vcmcCJDk4ZjQ3NjU2LTk4ZjctNDM3Zi1h»",
    ),
    ("huggingface-token", "«hf_aBcD3FgHiJkLmN0pQrStUvWxYzAbCdEfGh»"),
    (
        "digitalocean-token",
        "«dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef»",
    ),
    ("shopify-token", "«shpat_0123456789abcdef0123456789abcdef»"),
    (
        "sendgrid-key",
        "«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»",
    ),
    (
        "grafana-token",
        "«glsa_HOruNAb7SOiCdshU7algkrq7FDsNSLAa_54e2f8be»",
    ),
    ("docker-token", "«dckr_pat_aBcDeFgHiJkLmNoPqRsTuVwXyZ0»"),
    ("linear-key", "«lin_api_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcd»"),
    ("databricks-token", "«dapi0123456789abcdef0123456789abcdef»"),
    (
        "age-key",
        "«AGE-SECRET-KEY-1QQPQYNNWAPAZ3ZTZ3ZTZ3ZTZ3ZTZ3ZTZ3ZTZ3ZTZ3ZTZ3»",
    ),
    (
        "telegram-token",
        "bot «110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0» runs",
    ),
    (
        "discord-token",
        "«MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs»",
    ),
    (
        "discord-webhook",
        "https://«discord.com/api/webhooks/123456789012345678/AbCd-EfGh_1234»",
    ),
    ("vault-token", "«hvs.CAESIJ2abcdefGHIJKLmnop1234»"),
    (
        "jwt",
        "«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U»",
    ),
    ("jwt", "token «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.»"),
    ("key", "TWILIO_KEY=«SK0123456789abcdef0123456789abcdef»"),
    (
        "azure-sas",
        "https://x.blob.core.windows.net/c?sv=2020«&sig=AbCd1234EfGh5678IjKl9012MnOp3456QrSt7890UvW%3D»",
    ),
    // Private keys.
    (
        "private-key",
        "«-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nAbCd==\n-----END PRIVATE KEY-----»\n",
    ),
    (
        "private-key",
        "«-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUA\n-----END OPENSSH PRIVATE KEY-----»",
    ),
    (
        "private-key",
        "x = «-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEowIBAAKCAQEA0123\n-----END RSA PRIVATE KEY-----»",
    ),
    (
        "private-key",
        "«-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nlQOYBF0123456789ABCDEF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----»",
    ),
    (
        "private-key",
        "\"private_key\": \"«-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEF\\n-----END PRIVATE KEY-----»\\n\",",
    ),
    // URLs.
    ("url-password", "postgres://user:«hunter2»@localhost:5432/db"),
    (
        "url-password",
        "url = \"mongodb+srv://admin:«p%40ss»@cluster0.mongodb.net/x\"",
    ),
    ("url-password", "redis://:«hunter2»@localhost"),
    ("url-password", "mysql://root:«p@ss#w0rd»@db/x"),
    (
        "github-token",
        "https://«ghp_16C7e42F292c6912E7710c838347Ae178B4a»@github.com/a/b",
    ),
    (
        "url-token",
        "https://«0123456789abcdef0123456789abcdef»@o1.ingest.sentry.io/2",
    ),
    (
        "url-password",
        "git remote add o https://x-access-token:«abcdef»@github.com/a/b.git",
    ),
    // Headers.
    ("authorization", "Authorization: Bearer «abc123def456ghi»"),
    (
        "authorization",
        "curl -H 'Authorization: token «abc123def456ghi»' https://a.b",
    ),
    ("authorization", "-H \"Authorization: Basic «dXNlcjpwYXNz»\""),
    (
        "authorization",
        "headers: { \"Authorization\": \"Bearer «AbCd3fGh1jKl»\" }",
    ),
    ("authorization", "sends Bearer «0f8Hq2Lz7Vx1Pm5Rt9Yw» to it"),
    (
        "cookie",
        "Cookie: theme=dark; sid=«0f8Hq2Lz7Vx1Pm5Rt9Yw»; lang=en",
    ),
    (
        "cookie",
        "Set-Cookie: session=«s%3A0f8Hq2Lz7Vx1Pm5Rt9Yw»; Path=/; HttpOnly",
    ),
    ("api-key", "-H \"X-Api-Key: «0f8Hq2Lz7Vx1Pm5Rt9Yw»\""),
    // Connection strings.
    ("password", "Server=db;User Id=sa;Password=«hunter»;Database=x"),
    ("password", "\"Data Source=x;Uid=me;Pwd=«S3cret!x»;\""),
    (
        "key",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=«Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==»;Suffix=x",
    ),
    (
        "key",
        "Endpoint=sb://a/;SharedAccessKeyName=Root;SharedAccessKey=«a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V=»",
    ),
    (
        "connection-string",
        "connectionString: \"«Server=x;User=y;Pw=z»\"",
    ),
    // Command lines.
    ("password", "tool --password «hunter2» --verbose"),
    ("password", "tool --db-password=«hunter2»"),
    ("password", "tool --password \"«two words»\""),
    ("password", "[\"--password\", \"«hunter2»\"]"),
    ("token", "tool --token «abcd1234efgh»"),
    ("token", "tool --token=«0f8Hq2Lz7Vx1Pm5Rt9Yw»"),
    ("password", "curl -s -u user:«hunter2» https://a.b"),
    ("password", "curl --user 'me:«hunter 2»' x"),
    ("password", "sshpass -p «hunter2» ssh a@b"),
    ("password", "sshpass -p '«hunter2»' ssh a@b"),
    ("password", "mysql -uroot -p«Secret» db"),
    ("password", "mysqldump -h x -p«Secret» db"),
    ("password", "docker login -u me -p «hunter2» ghcr.io"),
    ("password", "redis-cli -a «hunter2» ping"),
    (
        "secret",
        "aws configure set aws_secret_access_key «wJalrXUtnFEMI/K7MDENG/bPxRfiCYzAbCdEfGhI»",
    ),
    ("password", "CREATE USER me WITH PASSWORD '«hunter2»';"),
    ("password", "CREATE USER me IDENTIFIED BY '«hunter2»';"),
    // Assignments.
    ("password", "DB_PASSWORD=«hunter2»"),
    ("password", "DB_PASSWORD=«hunter»"),
    ("password", "export PGPASSWORD='«hunter2»'"),
    ("password", "MYSQL_PWD=«abcd» mysql"),
    ("password", "password: «hunter2»"),
    ("password", "  password: «changeme»"),
    ("password", "- POSTGRES_PASSWORD: «postgres»"),
    ("password", "password = «hunter2»"),
    ("password", "password = \"«hunter2»\""),
    ("password", "let password = \"«correct horse»\";"),
    ("password", "const PASSWORD: &'static str = \"«hunter2»\";"),
    ("password", "password: str = '«hunter2»'"),
    ("password", "$password = '«it\\'s»';"),
    ("password", "spring.datasource.password=«hunter2»"),
    ("password", "user=admin, password=«hunter2», host=x"),
    ("password", "{\"user\":\"a\",\"password\":\"«p\\\"q\\\\»\"}"),
    ("password", "<password>«hunter2»</password>"),
    ("password", "<Password>«hunter»</Password>"),
    ("password", "<add key=\"DbPassword\" value=\"«hunter2»\" />"),
    ("password", "- name: DB_PASSWORD\n  value: «hunter2»"),
    ("password", "{\"name\":\"DB_PASSWORD\",\"value\":\"«hunter2»\"}"),
    ("password", "os.Setenv(\"DB_PASSWORD\", \"«hunter2»\")"),
    ("password", "passphrase: \"«open sesame»\""),
    ("password", "https://a.b/c?password=«hunter»&x=1"),
    ("password", "password: «p@ssw0rd!»"),
    ("password", "password := \"«hunter2»\""),
    ("password", "if password == \"«hunter2»\" {"),
    ("password", "config[\"password\"] = \"«hunter2»\""),
    ("password", "char password[32] = \"«hunter2»\";"),
    ("password", "password: Some(\"«hunter2»\".into()),"),
    ("password", "password: b\"«hunter2»\","),
    ("secret", "\"clientSecret\": \"«hunter2»\""),
    ("secret", "client_secret=«s3cr3t-v4lue»"),
    ("secret", "secretKey => \"«abcdefgh»\""),
    ("secret", "SECRET_KEY_BASE=«0f8Hq2Lz7Vx1Pm5Rt9Yw»"),
    ("secret", "webhook_secret: '«abcdefgh»'"),
    ("secret", "session_secret = \"«keyboard cat»\""),
    (
        "secret",
        "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYzAbCdEfGhI»",
    ),
    ("api-key", "api-key = '«0f8Hq2Lz7Vx1Pm5Rt9Yw»'"),
    ("api-key", "apiKey: \"«0f8Hq2Lz7Vx1Pm5Rt9Yw»\","),
    ("token", "export TOKEN=«0f8Hq2Lz7Vx1Pm5Rt9Yw»"),
    ("token", "auth_token: «3f2a9c41-8b7d-4e6f-9a01-23456789abcd»"),
    ("token", "\"access_token\":\"«0f8Hq2Lz7Vx1Pm5Rt9Yw»\""),
    ("token", "refresh_token=«1//0f8Hq2Lz7Vx1Pm5Rt9Yw»"),
    ("token", "TOKEN_GITHUB=«0f8Hq2Lz7Vx1Pm5Rt9Yw»"),
    ("key", "private_key = \"«MIIEvQIBADANBgkqhkiG9w0BAQEFAASC»\""),
    ("key", "encryption_key: «0123456789abcdef0123456789abcdef»"),
    ("key", "signing_key=\"«qzWx7Pv2Kj9Lm4Rt»\""),
    ("credential", "credentials: \"«0f8Hq2Lz7Vx1Pm5Rt9Yw»\""),
    ("auth", "_auth=«dXNlcjpodW50ZXIyaHVudGVyMg==»"),
    // Notations of languages and tools.
    ("password", "var dbPassword string = \"«hunter2»\""),
    ("password", "DB_PASSWORD ?= «hunter2»"),
    ("password", "DB_PASSWORD ::= «hunter2»"),
    ("password", "$password .= \"«hunter2»\";"),
    ("password", "password += \"«hunter2»\""),
    ("password", "password <- \"«hunter2»\""),
    ("password", "os.getenv(\"DB_PASSWORD\", \"«hunter2»\")"),
    ("password", "process.env.DB_PASSWORD || \"«hunter2»\""),
    ("password", "url=${DB_PASSWORD:-«hunter2»}"),
    ("password", "ENV DB_PASSWORD «hunter2»"),
    ("password", "Driver={ODBC 17};Server=db;UID=sa;PWD=«hunter2»;"),
    ("password", "machine a.b login me password «hunter2»"),
    ("password", "<entry key=\"dbPassword\">«hunter2»</entry>"),
    (
        "api-key",
        "<string name=\"api_key\">«0f8Hq2Lz7Vx1Pm5Rt9Yw»</string>",
    ),
    (
        "api-key",
        "<key>apiKey</key>\n<string>«0f8Hq2Lz7Vx1Pm5Rt9Yw»</string>",
    ),
    ("api-key", "| api_key | «0f8Hq2Lz7Vx1Pm5Rt9Yw» |"),
    ("password", " id | password \n----+-----\n 1 | «hunter2»\n"),
    ("password", "id,password\n1,«hunter2»"),
    ("password", "gh secret set TOKEN --body «hunter2»"),
    // Private keys in base64, as a whole and without their first line.
    (
        "private-key",
        "tls.crt: «LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJna3Foa2lHOXcwQkFRRUZBQVND»",
    ),
    (
        "private-key",
        "«MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA\nAoIBAQC7VJTUt9Us8cKjMzEfYyji»",
    ),
    // Vendors whose mark is not at the start.
    ("mailchimp-key", "«0123456789abcdef0123456789abcdef-us12»"),
    (
        "salesforce-token",
        "«00D000000000001!AQ4AQFx9pQ2Lz7Vx1Pm5Rt9Yw0f8Hq2Lz7Vx1Pm5Rt9Yw0f8Hq2Lz7Vx1Pm5Rt9Yw»",
    ),
    (
        "terraform-token",
        "«0f8Hq2Lz7Vx1Pm.atlasv1.0f8Hq2Lz7Vx1Pm5Rt9Yw0f8Hq2Lz7Vx1Pm5Rt9Yw0f8Hq2Lz7Vx1»",
    ),
];

#[test]
fn only_the_marked_secret_is_redacted() {
    assert_all(cases().map(|(text, redacted)| (plain(&text), redacted)));
    assert_all(cases().map(|(_, redacted)| (plain(&redacted), redacted)));
}

#[test]
fn secrets_are_redacted_in_json_and_in_json_within_json() {
    assert_all(cases().map(|(text, redacted)| (plain(&escaped(&text)), escaped(&redacted))));
    assert_all(
        cases().map(|(text, redacted)| (plain(&escaped(&escaped(&text))), escaped(&escaped(&redacted)))),
    );
}

#[test]
fn secrets_are_redacted_inside_code() {
    assert_all(cases().map(|(text, redacted)| (plain(&embedded(&text)), embedded(&redacted))));
    assert_all(
        cases().map(|(text, redacted)| (plain(&escaped(&embedded(&text))), escaped(&embedded(&redacted)))),
    );
}

#[test]
fn a_truncated_private_key_is_redacted_to_the_edge_of_the_text() {
    let head = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789abcdef\nmore";
    assert_eq!(plain(head), "a\n[redacted:private-key]");
    assert_eq!(plain(&escaped(head)), "a\\n[redacted:private-key]");
    let tail = "QEA0123456789abcdef\nMIIEowIBAAKC==\n-----END RSA PRIVATE KEY-----\nmore";
    assert_eq!(plain(tail), "[redacted:private-key]\nmore");
    assert_eq!(plain(&escaped(tail)), "[redacted:private-key]\\nmore");
}

/// Returns the texts and their expected redactions.
fn cases() -> impl Iterator<Item = (String, String)> {
    SECRETS.iter().map(|(kind, marked)| {
        let (before, rest) = marked.split_once('«').unwrap();
        let (secret, after) = rest.split_once('»').unwrap();
        (
            format!("{before}{secret}{after}"),
            format!("{before}[redacted:{kind}]{after}"),
        )
    })
}
