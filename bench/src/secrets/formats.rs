//! Formats of tokens that vendors document, and values made from them.

use super::Sample;
use crate::random::Random;

/// Vendor and format. `{A36}` stands for 36 random characters of a class, see [`alphabet`]; `{U}` for a UUID.
pub(super) const FORMATS: &[(&str, &str)] = &[
    ("1password", "ops_eyJ{A200}"),
    ("1password", "A3-{u6}-{u11}-{u5}-{u5}-{u5}"),
    ("adobe", "p8e-{A32}"),
    ("age", "AGE-SECRET-KEY-1{u58}"),
    ("alibaba", "LTAI{A20}"),
    ("amazon", "AKIA{u16}"),
    ("amazon", "ASIA{u16}"),
    ("amazon", "ABSK{b120}"),
    ("amazon", "amzn.mws.{U}"),
    ("amazon", "amzn1.oa2-cs.v1.{h64}"),
    ("anthropic", "sk-ant-api03-{w93}AA"),
    ("anthropic", "sk-ant-admin01-{w93}AA"),
    ("apify", "apify_api_{A36}"),
    ("artifactory", "AKCp{A69}"),
    ("artifactory", "cmVmd{A59}"),
    ("atlassian", "ATATT3xFfGF0{w180}"),
    ("atlassian", "ATCTT3xFfG{w180}"),
    ("axiom", "xaat-{U}"),
    ("bitbucket", "ATBB{A32}"),
    ("braintree", "access_token$production${a16}${h32}"),
    ("brevo", "xkeysib-{h64}-{A16}"),
    ("brevo", "xsmtpsib-{h64}-{A16}"),
    ("buildkite", "bkua_{h40}"),
    ("cal", "cal_live_{h32}"),
    ("cerebras", "csk-{a48}"),
    ("circleci", "CCIPAT_{A22}_{h40}"),
    ("circleci", "CCIPRJ_{A22}_{h40}"),
    ("clojars", "CLOJARS_{h60}"),
    ("cloudflare", "v1.0-{h24}-{h146}"),
    ("contentful", "CFPAT-{w43}"),
    ("databricks", "dapi{h32}"),
    ("databricks", "dapi{h32}-2"),
    ("defined", "dnkey-{A26}-{A52}"),
    ("deno", "ddp_{A36}"),
    ("digitalocean", "dop_v1_{h64}"),
    ("digitalocean", "doo_v1_{h64}"),
    ("digitalocean", "dor_v1_{h64}"),
    ("discord", "https://discord.com/api/webhooks/{d18}/{w68}"),
    ("docker", "dckr_pat_{w27}"),
    ("docker", "dckr_oat_{w32}"),
    ("doppler", "dp.pt.{A43}"),
    ("doppler", "dp.st.dev.{A43}"),
    ("doppler", "dp.ct.{A43}"),
    ("doppler", "dp.sa.{A43}"),
    ("dropbox", "sl.B{w134}"),
    ("duffel", "duffel_test_{w43}"),
    ("duffel", "duffel_live_{w43}"),
    ("dynatrace", "dt0c01.{u24}.{u64}"),
    ("easypost", "EZAK{A54}"),
    ("easypost", "EZTK{A54}"),
    ("elevenlabs", "sk_{h48}"),
    ("facebook", "EAAM{A160}"),
    ("facebook", "EAACEdEose0cBA{A150}"),
    ("figma", "figd_{w40}"),
    ("firecrawl", "fc-{h32}"),
    ("flutterwave", "FLWSECK_TEST-{h32}-X"),
    ("fly", "fo1_{w43}"),
    ("fly", "FlyV1 fm2_{b200}"),
    ("frame.io", "fio-u-{w64}"),
    ("github", "ghp_{A36}"),
    ("github", "gho_{A36}"),
    ("github", "ghu_{A36}"),
    ("github", "ghs_{A36}"),
    ("github", "ghr_{A36}"),
    ("github", "github_pat_{A22}_{A59}"),
    ("gitlab", "glpat-{w20}"),
    ("gitlab", "gldt-{w20}"),
    ("gitlab", "glft-{w20}"),
    ("gitlab", "glrt-{w20}"),
    ("gitlab", "glptt-{h40}"),
    ("gitlab", "glcbt-{A5}_{w20}"),
    ("gitlab", "glsoat-{w20}"),
    ("gitlab", "glimt-{w25}"),
    ("gitlab", "glagent-{w50}"),
    ("gitlab", "gloas-{w64}"),
    ("gitlab", "glffct-{w20}"),
    ("gitlab", "GR1348941{w20}"),
    ("gocardless", "live_{w40}"),
    ("google", "AIza{w35}"),
    ("google", "ya29.{w120}"),
    ("google", "GOCSPX-{w28}"),
    ("google", "1//0{w60}"),
    ("grafana", "glsa_{A32}_{h8}"),
    ("grafana", "glc_{b80}"),
    ("grafana", "eyJrIjoi{A90}"),
    ("groq", "gsk_{A52}"),
    ("harness", "pat.{w22}.{h24}.{A20}"),
    ("heroku", "HRKU-AA{w58}"),
    ("honeycomb", "hcaik_{a58}"),
    ("hubspot", "pat-na1-{U}"),
    ("huggingface", "hf_{L34}"),
    ("huggingface", "api_org_{L34}"),
    ("infracost", "ico-{A32}"),
    ("intercom", "dG9rO{A54}="),
    ("intra42", "s-s4t2ud-{h64}"),
    ("jina", "jina_{A60}"),
    ("langfuse", "sk-lf-{U}"),
    ("langsmith", "lsv2_pt_{h32}_{h10}"),
    ("launchdarkly", "sdk-{U}"),
    ("linear", "lin_api_{A40}"),
    ("mailchimp", "{h32}-us12"),
    ("mailersend", "mlsn.{h64}"),
    ("mailgun", "key-{h32}"),
    ("mapbox", "sk.eyJ{A80}.{w22}"),
    ("maxmind", "{A6}_{A29}_mmk"),
    ("mongodb", "mdb_sa_sk_{w40}"),
    ("neon", "napi_{a64}"),
    ("netlify", "nfp_{A36}"),
    ("newrelic", "NRAK-{u27}"),
    ("newrelic", "NRII-{w32}"),
    ("newrelic", "{h36}NRAL"),
    ("notion", "ntn_{d11}{A35}"),
    ("notion", "secret_{A43}"),
    ("npm", "npm_{A36}"),
    ("nuget", "oy2{a43}"),
    ("nvidia", "nvapi-{w64}"),
    ("octopus", "API-{u26}"),
    ("openai", "sk-{A20}T3BlbkFJ{A20}"),
    ("openai", "sk-proj-{w74}T3BlbkFJ{w74}"),
    ("openrouter", "sk-or-v1-{h64}"),
    ("openshift", "sha256~{w43}"),
    ("openvsx", "ovsxat_{U}"),
    ("paddle", "pdl_live_apikey_{a26}_{A22}_{A3}"),
    ("perplexity", "pplx-{A48}"),
    ("pinecone", "pcsk_{A5}_{A63}"),
    ("plaid", "access-sandbox-{U}"),
    ("plaid", "access-production-{U}"),
    ("planetscale", "pscale_tkn_{w43}"),
    ("planetscale", "pscale_pw_{w43}"),
    ("posthog", "phx_{A43}"),
    ("postman", "PMAK-{h24}-{h34}"),
    ("prefect", "pnu_{A36}"),
    ("pulumi", "pul-{h40}"),
    ("pypi", "pypi-AgEIcHlwaS5vcmc{w150}"),
    ("razorpay", "rzp_live_{A14}"),
    ("readme", "rdme_{a70}"),
    ("replicate", "r8_{A37}"),
    ("rootly", "rootly_{h64}"),
    ("rubygems", "rubygems_{h48}"),
    ("runpod", "rpa_{u46}"),
    ("salesforce", "00D{A12}!AQ{A90}"),
    ("scalingo", "tk-us-{w48}"),
    ("segment", "sgp_{A64}"),
    ("sendgrid", "SG.{w22}.{w43}"),
    ("sentry", "sntrys_{b120}"),
    ("sentry", "sntryu_{h64}"),
    ("settlemint", "sm_pat_{A16}"),
    ("shippo", "shippo_live_{h40}"),
    ("shopify", "shpat_{h32}"),
    ("shopify", "shpss_{h32}"),
    ("slack", "xoxb-{d12}-{d13}-{A24}"),
    ("slack", "xoxp-{d12}-{d12}-{d12}-{h32}"),
    ("slack", "xapp-1-{u11}-{d13}-{h64}"),
    ("slack", "xoxe-1-{A146}"),
    ("slack", "xwfp-{w40}"),
    ("slack", "https://hooks.slack.com/services/T{u8}/B{u10}/{A24}"),
    ("sonarqube", "squ_{h40}"),
    ("sourcegraph", "sgp_{h16}_{h40}"),
    ("square", "sq0atp-{w22}"),
    ("square", "sq0csp-{w43}"),
    ("stripe", "sk_live_{A24}"),
    ("stripe", "sk_test_{A24}"),
    ("stripe", "rk_live_{A24}"),
    ("stripe", "whsec_{A32}"),
    ("supabase", "sbp_{h40}"),
    ("supabase", "sb_secret_{w31}"),
    ("tailscale", "tskey-auth-{A11}-{A32}"),
    ("tavily", "tvly-dev-{A32}"),
    ("telegram", "{d9}:AA{w33}"),
    ("terraform", "{A14}.atlasv1.{w67}"),
    ("together", "tgp_v1_{w43}"),
    ("trello", "ATTA{h64}"),
    ("twitter", "AAAAAAAAAAAAAAAAAAAAA{A90}"),
    ("typeform", "tfp_{w44}_{w14}"),
    ("val.town", "vtwn_{A30}"),
    ("vault", "hvs.{w95}"),
    ("vault", "hvb.{w150}"),
    ("vercel", "vcp_{A56}"),
    ("vercel", "vercel_blob_rw_{A16}_{A32}"),
    ("xai", "xai-{A80}"),
    ("yandex", "AQVN{w37}"),
    ("zuplo", "zpka_{a32}_{h8}"),
    (
        "microsoft",
        "https://acme.webhook.office.com/webhookb2/{U}@{U}/IncomingWebhook/{h32}/{U}",
    ),
    ("zapier", "https://hooks.zapier.com/hooks/catch/{d7}/{a7}/"),
];

/// Fills in a format.
pub(super) fn filled(format: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((class, after)) = after.split_once('}') else {
            break;
        };
        out.push_str(before);
        let (name, length) = class.split_at(1);
        match name {
            "U" => out.push_str(&uuid(random)),
            _ => out.push_str(&characters(name, length.parse().unwrap_or(0), random)),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns random characters of a class.
pub(super) fn characters(class: &str, length: usize, random: &mut Random) -> String {
    let alphabet = alphabet(class).as_bytes();
    (0..length).map(|_| char::from(random.pick(alphabet))).collect()
}

pub(super) fn uuid(random: &mut Random) -> String {
    [8, 4, 4, 4, 12]
        .map(|length| characters("h", length, random))
        .join("-")
}

fn alphabet(class: &str) -> &'static str {
    match class {
        "A" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        "L" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "a" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "h" => "0123456789abcdef",
        "d" => "123456789",
        "b" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "w" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        _ => "?",
    }
}

/// Returns each format in text that does not announce it.
pub(super) fn bare(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (vendor, format) in FORMATS {
        for around in [
            "§",
            "see § for it",
            "(§)",
            "a, §, b",
            "\"§\"",
            "line\n§\nline",
            "x: §",
        ] {
            let token = filled(format, random);
            samples.push(Sample::new(format!("{vendor} {format}"), around, &token));
        }
    }
    samples
}
