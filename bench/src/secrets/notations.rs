//! The notations in which files, logs and commands hold a secret.

use super::{
    Sample,
    formats::{FORMATS, characters, filled, uuid},
};
use crate::random::Random;

/// Assignments: `¤` stands for a name in lower case, `¢` for one in camel case, `£` for one in upper case, `§` for the secret.
const ASSIGNMENTS: &[&str] = &[
    "¤ = \"§\"",
    "¤ = '§'",
    "¤=§",
    "£=§",
    "export £=§",
    "export £=\"§\"",
    "set £=§",
    "£ = \"§\"",
    "£ := \"§\"",
    "£ ::= \"§\"",
    "£ :::= \"§\"",
    "£ ?= \"§\"",
    "£ ?= §",
    "¤: §",
    "¤: \"§\"",
    "¤: '§'",
    "  - name: £\n    value: §",
    "{\"¤\":\"§\"}",
    "{\"¤\": \"§\", \"x\": 1}",
    "{\"config.ini\": \"£=§\\nBACKUP=true\"}",
    "{\\\"¢\\\":\\\"§\\\"}",
    "var ¢ = \"§\";",
    "var ¢ string = \"§\"",
    "const ¢: string = \"§\";",
    "let ¢ = `§`;",
    "¢ := \"§\"",
    "¢ := `§`",
    "string ¢ = \"§\";",
    "private static final String £ = \"§\";",
    "val ¢: String = \"§\"",
    "$¢ = \"§\";",
    "$¢ .= \"§\";",
    "¢ += \"§\"",
    "¤ = f\"§\"",
    "(\"¢\", \"§\")",
    "\"¢\" => \"§\",",
    ":¤ => '§'",
    "config['¤'] = '§'",
    "config.¢ = \"§\"",
    "os.environ[\"£\"] = \"§\"",
    "os.getenv(\"£\", \"§\")",
    "os.environ.get('£', '§')",
    "process.env.£ || \"§\"",
    "process.env.£ ?? '§'",
    "${£:-§}",
    "ENV £=§",
    "ENV £ §",
    "ARG £=§",
    "-D¤=§",
    "--¤=§",
    "--¤ §",
    "<¢>§</¢>",
    "<entry key=\"¢\" value=\"§\" />",
    "<add key=\"¢\" value=\"§\" />",
    "<string name=\"¤\">§</string>",
    "<key>¢</key>\n<string>§</string>",
    "<property name=\"¢\">§</property>",
    "#define £ \"§\"",
    "setenv £ §",
    "[Environment]::SetEnvironmentVariable(\"£\", \"§\")",
    "$env:£ = \"§\"",
    "¤ <- \"§\"",
    "| ¤ | § |",
    "?¤=§&x=1",
];

/// Vendors whose tokens are only recognized by the name of the setting.
const VENDORS: &[&str] = &[
    "adafruit",
    "algolia",
    "amplitude",
    "asana",
    "bitly",
    "bittrex",
    "codecov",
    "coinbase",
    "confluent",
    "datadog",
    "droneci",
    "etsy",
    "fastly",
    "finnhub",
    "freshbooks",
    "gitter",
    "gumroad",
    "hetzner",
    "intercom",
    "jfrog",
    "kraken",
    "kucoin",
    "lob",
    "mattermost",
    "messagebird",
    "mixpanel",
    "nytimes",
    "okta",
    "opsgenie",
    "pagerduty",
    "plivo",
    "rapidapi",
    "rollbar",
    "snyk",
    "sendbird",
    "sumologic",
    "travisci",
    "twilio",
    "twitch",
    "typesense",
    "vultr",
    "yandex",
    "zendesk",
];

/// Endings of a setting's name, as words.
const ENDINGS: &[&[&str]] = &[
    &["token"],
    &["api", "key"],
    &["secret"],
    &["api", "token"],
    &["access", "token"],
    &["secret", "key"],
    &["auth", "token"],
    &["client", "secret"],
    &["password"],
    &["key"],
];

/// Classes and lengths of values.
const VALUES: &[(&str, usize)] = &[
    ("h", 32),
    ("h", 40),
    ("h", 64),
    ("a", 32),
    ("A", 20),
    ("A", 24),
    ("A", 32),
    ("A", 40),
    ("w", 32),
    ("w", 43),
    ("L", 32),
    ("b", 44),
    ("U", 36),
];

/// Returns each notation with each ending of a name.
pub(super) fn assignments(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for notation in ASSIGNMENTS {
        for ending in ENDINGS {
            for _ in 0..4 {
                let mut words = vec![random.pick(VENDORS)];
                words.extend_from_slice(ending);
                let (class, length) = random.pick(VALUES);
                let secret = match class {
                    "U" => uuid(random),
                    _ => characters(class, length, random),
                };
                samples.push(sample(notation, &words, &secret));
            }
        }
    }
    samples
}

fn sample(notation: &str, words: &[&str], secret: &str) -> Sample {
    let lower = words.join("_");
    let camel: String = words
        .iter()
        .enumerate()
        .map(|(index, word)| {
            if index == 0 {
                (*word).to_owned()
            } else {
                word[..1].to_uppercase() + &word[1..]
            }
        })
        .collect();
    let text = notation
        .replace('¤', &lower)
        .replace('¢', &camel)
        .replace('£', &lower.to_uppercase());
    Sample::new(notation.to_owned(), &text, secret)
}

/// Other places of secrets: `§` stands for a value, `¶` for the token of a vendor.
const SURROUNDINGS: &[(&str, &str)] = &[
    ("[DEBUG] Using Key=§", "A32"),
    ("[INFO] token=§ status=200", "A40"),
    ("[WARN] retry with api_key: § (attempt 2)", "h32"),
    ("time=\"10:00\" level=info msg=\"auth\" token=§", "w40"),
    ("curl -H \"Authorization: Bearer §\" https://api.acme.dev", "A40"),
    ("curl -H 'X-Api-Key: §' https://api.acme.dev", "A32"),
    ("curl -u admin:§ https://api.acme.dev", "A14"),
    ("wget --password=§ https://acme.dev/x", "A12"),
    ("Authorization: Basic §==", "A22"),
    ("postgres://app:§@db.acme.dev:5432/app", "A16"),
    ("postgresql+psycopg2://app:§@db/app", "A16"),
    ("mysql://root:§@127.0.0.1/app", "A12"),
    ("mongodb+srv://app:§@cluster0.x.mongodb.net/test", "A16"),
    ("redis://:§@cache:6379/0", "A20"),
    ("amqp://guest:§@mq:5672", "A12"),
    ("ftp://user:§@files.acme.dev", "A10"),
    ("https://user:§@git.acme.dev/repo.git", "A20"),
    ("jdbc:postgresql://db/app?user=app&password=§", "A14"),
    ("jdbc:sqlserver://db;databaseName=app;user=sa;password=§;", "A14"),
    ("Driver={ODBC Driver 17};Server=db;UID=sa;PWD=§;", "A14"),
    ("Server=db;Database=app;User Id=sa;Password=§;", "A14"),
    ("DRIVER=PostgreSQL;UID=app;PWD=§", "a12"),
    (
        "AccountName=acme;AccountKey=§==;EndpointSuffix=core.windows.net",
        "b86",
    ),
    ("machine api.acme.dev login me password §", "A16"),
    ("machine api.acme.dev\n  login me\n  password §\n", "A16"),
    ("//registry.npmjs.org/:_authToken=§", "U"),
    (
        "[default]\naws_access_key_id = x\naws_secret_access_key = §",
        "b40",
    ),
    ("{\"auths\":{\"ghcr.io\":{\"auth\":\"§==\"}}}", "b38"),
    (
        "{\"type\":\"service_account\",\"private_key_id\":\"x\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n§\\n-----END PRIVATE KEY-----\\n\"}",
        "b64",
    ),
    (
        "-----BEGIN RSA PRIVATE KEY-----\n§\n-----END RSA PRIVATE KEY-----",
        "b64",
    ),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n§\n", "b70"),
    ("key: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ§", "b200"),
    ("tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk§", "b200"),
    ("ssh key b3BlbnNzaC1rZXktdjEAAAAABG5vbmUA§", "b120"),
    ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ§", "b64"),
    ("MIIEpAIBAAKCAQEA§", "b48"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.§", "w43"),
    ("Set-Cookie: session=§; Path=/; HttpOnly", "A32"),
    ("Cookie: sid=§", "h32"),
    ("https://acme.blob.core.windows.net/c/f?sv=2022&sig=§%3D", "A43"),
    ("https://api.acme.dev/v1?api_key=§", "h32"),
    (
        "https://s3.amazonaws.com/b/k?X-Amz-Credential=x&X-Amz-Signature=§",
        "h64",
    ),
    ("https://acme.dev/login?access_token=§&x=1", "A40"),
    ("docker login -u me -p § ghcr.io", "A20"),
    ("sshpass -p '§' ssh me@host", "A12"),
    ("mysql -uroot -p§ app", "A12"),
    ("PGPASSWORD=§ psql -h db", "A12"),
    ("psql \"host=db user=app password=§ dbname=app\"", "A12"),
    ("helm install x --set auth.password=§", "A12"),
    (
        "kubectl create secret generic db --from-literal=password=§",
        "A12",
    ),
    ("gh secret set TOKEN --body §", "A36"),
    ("echo '§' | docker login --password-stdin", "A36"),
    ("az login --service-principal -u id -p § --tenant t", "A34"),
    ("CREATE USER app WITH PASSWORD '§';", "A12"),
    ("ALTER USER app IDENTIFIED BY '§';", "A12"),
    ("INSERT INTO users (name, password) VALUES ('ann', '§');", "A16"),
    (
        " id | name | password \n----+------+----------\n  1 | ann  | §\n",
        "A14",
    ),
    ("| id | api_key |\n|----|---------|\n| 1 | § |", "A32"),
    ("id,name,password\n1,ann,§\n", "A14"),
    ("apiVersion: v1\nkind: Secret\ndata:\n  password: §==\n", "b22"),
    ("apiVersion: v1\nkind: Secret\nstringData:\n  value: §\n", "A24"),
    ("$ANSIBLE_VAULT_PASS: §", "A20"),
    ("password \"§\"", "A14"),
    ("The password is §", "A20"),
    ("Your API key is: §", "A32"),
    ("API Key: §", "A32"),
    ("Access Token: §", "A40"),
    ("secret key § was created", "A40"),
    ("Bearer §", "A40"),
    ("x-auth-token: §", "h40"),
    ("{\"access_token\":\"§\",\"expires_in\":3600}", "A60"),
    ("refresh_token: §", "w60"),
    ("client_secret=§&grant_type=client_credentials", "A32"),
    ("Passphrase: §", "A14"),
    ("root password: §", "A12"),
    ("Temporary password: §", "A12"),
];

/// Returns other places of secrets, and tokens of vendors in logs and settings.
pub(super) fn surroundings(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (text, class) in SURROUNDINGS {
        for _ in 0..10 {
            let secret = filled(&format!("{{{class}}}"), random);
            samples.push(Sample::new((*text).to_owned(), text, &secret));
        }
    }
    let places = [
        "[INFO] Sending request to the ¤ API\n[DEBUG] Using Key=§\n[INFO] Response received: 200 OK",
        "¤ §",
        "¤: §",
        "func main() {\n\tclient := ¤.New(\"§\")\n}",
        "<credentials><secret>§</secret></credentials>",
    ];
    for (vendor, format) in FORMATS {
        for place in places {
            let token = filled(format, random);
            let text = place.replace('¤', vendor);
            samples.push(Sample::new(format!("{place} {format}"), &text, &token));
        }
    }
    samples
}
