//! The tokens of vendors, as data: one row each.
//!
//! To add a vendor, add a row. The formats are those that vendors document or print on their pages. A token whose prefix is an
//! ordinary syllable is only recognized when the rest looks random; one without any mark of its own (Airtable, Twilio, Okta,
//! Azure) only after a name that announces it.

/// A set of ASCII characters, one bit each.
pub(crate) type Alphabet = u128;

const DIGITS: Alphabet = set(b"0123456789");
const HEX: Alphabet = DIGITS | set(b"abcdefABCDEF");
const UPPER: Alphabet = DIGITS | set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
const ALNUM: Alphabet = UPPER | set(b"abcdefghijklmnopqrstuvwxyz");
pub(crate) const WORD: Alphabet = ALNUM | set(b"_-");
const DOTTED: Alphabet = WORD | set(b".");
const DOLLARS: Alphabet = ALNUM | set(b"$");
const BASE64: Alphabet = WORD | set(b"+/=%");
const PATH: Alphabet = WORD | set(b"/@");

/// A short text inside its row. A reference would have to be relocated at the start of every hook process, which for all rows
/// takes longer than scanning a small event.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    bytes: [u8; 30],
    length: usize,
}

impl Label {
    const fn of(text: &str) -> Self {
        let mut bytes = [0; 30];
        let mut length = 0;
        while length < text.len() {
            bytes[length] = text.as_bytes()[length];
            length += 1;
        }
        Self { bytes, length }
    }

    pub(crate) const fn as_bytes(&self) -> &[u8] {
        self.bytes.split_at(self.length).0
    }

    pub(crate) fn as_str(&self) -> &str {
        // Always valid: it was made from a text.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

/// A token that is recognized by its prefix.
pub(crate) struct TokenPattern {
    pub(crate) prefix: Label,
    pub(crate) alphabet: Alphabet,
    /// The minimum number of characters after the prefix. Lower than the real length, so that a truncated token counts.
    pub(crate) min: usize,
    pub(crate) kind: Label,
    /// The prefix is an ordinary word or syllable: it must start a word, and the rest must look random.
    pub(crate) common: bool,
    /// The offset of the anchor in the prefix, for a prefix whose first bytes are too frequent in text.
    pub(crate) anchor: usize,
    /// The minimum number of characters of an alphabet before the prefix, for a mark in the middle or at the end of a token.
    pub(crate) before: (Alphabet, usize),
}

const fn token(prefix: &'static str, alphabet: Alphabet, min: usize, kind: &'static str) -> TokenPattern {
    TokenPattern {
        prefix: Label::of(prefix),
        alphabet,
        min,
        kind: Label::of(kind),
        common: false,
        anchor: 0,
        before: (0, 0),
    }
}

const fn common(prefix: &'static str, alphabet: Alphabet, min: usize, kind: &'static str) -> TokenPattern {
    TokenPattern {
        common: true,
        ..token(prefix, alphabet, min, kind)
    }
}

/// The known tokens: prefix (at least three characters), alphabet, minimum length after it, kind.
pub(crate) const TOKENS: &[TokenPattern] = &[
    token("AKIA", UPPER, 16, "aws-access-key"),
    token("ASIA", UPPER, 16, "aws-access-key"),
    token("ABIA", UPPER, 16, "aws-access-key"),
    token("ACCA", UPPER, 16, "aws-access-key"),
    token("ABSK", BASE64, 60, "aws-bedrock-key"),
    token("ghp_", ALNUM, 20, "github-token"),
    token("gho_", ALNUM, 20, "github-token"),
    token("ghu_", ALNUM, 20, "github-token"),
    token("ghs_", ALNUM, 20, "github-token"),
    token("ghr_", ALNUM, 20, "github-token"),
    TokenPattern {
        anchor: 4,
        ..token("github_pat_", WORD, 20, "github-token")
    },
    token("glpat-", DOTTED, 16, "gitlab-token"),
    token("gldt-", DOTTED, 16, "gitlab-token"),
    token("glrt-", DOTTED, 16, "gitlab-token"),
    token("glcbt-", DOTTED, 16, "gitlab-token"),
    token("glptt-", DOTTED, 16, "gitlab-token"),
    token("glsoat-", DOTTED, 16, "gitlab-token"),
    token("xoxa-", WORD, 10, "slack-token"),
    token("xoxb-", WORD, 10, "slack-token"),
    token("xoxc-", WORD, 10, "slack-token"),
    token("xoxd-", BASE64, 10, "slack-token"),
    token("xoxe-", WORD, 10, "slack-token"),
    token("xoxe.xox", WORD, 10, "slack-token"),
    token("xoxo-", WORD, 10, "slack-token"),
    token("xoxp-", WORD, 10, "slack-token"),
    token("xoxr-", WORD, 10, "slack-token"),
    token("xoxs-", WORD, 10, "slack-token"),
    token("xapp-", WORD, 10, "slack-token"),
    token("hooks.slack.com/services/", PATH, 20, "slack-webhook"),
    token("hooks.slack.com/workflows/", PATH, 20, "slack-webhook"),
    token("hooks.slack.com/triggers/", PATH, 20, "slack-webhook"),
    token("discord.com/api/webhooks/", PATH, 20, "discord-webhook"),
    token("discordapp.com/api/webhooks/", PATH, 20, "discord-webhook"),
    token("sk-ant-", WORD, 16, "anthropic-key"),
    token("sk-proj-", WORD, 16, "openai-key"),
    token("sk-svcacct-", WORD, 16, "openai-key"),
    token("sk-admin-", WORD, 24, "openai-key"),
    token("sk-or-v1-", WORD, 16, "openrouter-key"),
    common("sk-", WORD, 20, "openai-key"),
    token("sk_live_", ALNUM, 10, "stripe-key"),
    token("sk_test_", ALNUM, 10, "stripe-key"),
    token("rk_live_", ALNUM, 10, "stripe-key"),
    token("rk_test_", ALNUM, 10, "stripe-key"),
    token("whsec_", BASE64, 16, "webhook-secret"),
    token("AIza", WORD, 30, "google-api-key"),
    token("ya29.", DOTTED, 20, "google-token"),
    token("GOCSPX-", WORD, 16, "google-client-secret"),
    token("npm_", ALNUM, 30, "npm-token"),
    common("pypi-", WORD, 32, "pypi-token"),
    token("hf_", ALNUM, 30, "huggingface-token"),
    token("dop_v1_", HEX, 32, "digitalocean-token"),
    token("doo_v1_", HEX, 32, "digitalocean-token"),
    token("dor_v1_", HEX, 32, "digitalocean-token"),
    token("shpat_", HEX, 24, "shopify-token"),
    token("shpca_", HEX, 24, "shopify-token"),
    token("shppa_", HEX, 24, "shopify-token"),
    token("shpss_", HEX, 24, "shopify-token"),
    common("SG.", DOTTED, 40, "sendgrid-key"),
    token("glsa_", WORD, 24, "grafana-token"),
    common("glc_", BASE64, 32, "grafana-token"),
    token("dckr_pat_", WORD, 16, "docker-token"),
    token("dckr_oat_", WORD, 16, "docker-token"),
    TokenPattern {
        anchor: 3,
        ..token("lin_api_", ALNUM, 24, "linear-key")
    },
    TokenPattern {
        anchor: 4,
        ..token("lin_oauth_", ALNUM, 24, "linear-key")
    },
    token("dapi", HEX, 32, "databricks-token"),
    TokenPattern {
        anchor: 1,
        ..token("AGE-SECRET-KEY-1", UPPER, 20, "age-key")
    },
    token("hvs.", WORD, 20, "vault-token"),
    token("hvb.", WORD, 20, "vault-token"),
    token("sntrys_", BASE64, 24, "sentry-token"),
    token("sntryu_", HEX, 24, "sentry-token"),
    token("figd_", WORD, 24, "figma-token"),
    token("ntn_", ALNUM, 30, "notion-token"),
    token("gsk_", ALNUM, 32, "groq-key"),
    token("xai-", ALNUM, 40, "xai-key"),
    token("pplx-", ALNUM, 32, "perplexity-key"),
    token("nvapi-", WORD, 32, "nvidia-key"),
    token("tvly-", WORD, 24, "tavily-key"),
    token("lsv2_", WORD, 32, "langsmith-key"),
    token("sbp_", HEX, 32, "supabase-token"),
    token("sb_secret_", WORD, 16, "supabase-token"),
    TokenPattern {
        anchor: 6,
        ..token("vercel_blob_rw_", WORD, 16, "vercel-token")
    },
    token("rubygems_", HEX, 32, "rubygems-key"),
    token("pscale_", WORD, 24, "planetscale-token"),
    token("dp.st.", DOTTED, 24, "doppler-token"),
    token("dp.pt.", DOTTED, 24, "doppler-token"),
    token("FlyV1 fm", BASE64, 24, "fly-token"),
    token("NRAK-", UPPER, 20, "newrelic-key"),
    token("PMAK-", WORD, 24, "postman-key"),
    token("xkeysib-", WORD, 32, "brevo-key"),
    token("CCIPAT_", WORD, 24, "circleci-token"),
    token("bkua_", HEX, 32, "buildkite-token"),
    TokenPattern {
        anchor: 3,
        ..token("ATATT3x", BASE64, 32, "atlassian-token")
    },
    token("sq0csp-", WORD, 24, "square-token"),
    token("sq0atp-", WORD, 20, "square-token"),
    token("?sig=", BASE64, 40, "azure-sas"),
    token("&sig=", BASE64, 40, "azure-sas"),
    TokenPattern {
        anchor: 4,
        ..token("ops_eyJ", BASE64, 60, "1password-token")
    },
    common("A3-", WORD, 30, "1password-key"),
    common("p8e-", ALNUM, 28, "adobe-secret"),
    common("LTAI", ALNUM, 16, "alibaba-key"),
    token("bedrock-api-key-", BASE64, 40, "aws-bedrock-key"),
    token("amzn.mws.", WORD, 32, "amazon-token"),
    token("amzn1.oa2-cs.v1.", HEX, 40, "amazon-token"),
    TokenPattern {
        anchor: 3,
        ..token("apify_api_", ALNUM, 30, "apify-token")
    },
    token("AKCp", ALNUM, 56, "artifactory-key"),
    token("cmVmd", ALNUM, 52, "artifactory-key"),
    TokenPattern {
        anchor: 2,
        ..token("ATCTT3x", BASE64, 32, "atlassian-token")
    },
    common("ATBB", ALNUM, 28, "bitbucket-password"),
    token("xaat-", WORD, 32, "axiom-token"),
    TokenPattern {
        anchor: 9,
        ..token("access_token$", DOLLARS, 40, "braintree-token")
    },
    token("xsmtpsib-", WORD, 32, "brevo-key"),
    token("bkct_", ALNUM, 24, "buildkite-token"),
    token("bkpt_", ALNUM, 24, "buildkite-token"),
    TokenPattern {
        anchor: 1,
        ..token("cal_live_", ALNUM, 24, "cal-key")
    },
    TokenPattern {
        anchor: 1,
        ..token("cal_test_", ALNUM, 24, "cal-key")
    },
    common("csk-", ALNUM, 40, "cerebras-key"),
    token("CCIPRJ_", WORD, 24, "circleci-token"),
    token("CLOJARS_", HEX, 40, "clojars-token"),
    token("CFPAT-", WORD, 32, "contentful-token"),
    token("dnkey-", WORD, 32, "defined-key"),
    token("ddp_", ALNUM, 30, "deno-token"),
    token("dp.ct.", DOTTED, 24, "doppler-token"),
    token("dp.sa.", DOTTED, 24, "doppler-token"),
    token("dp.scim.", DOTTED, 24, "doppler-token"),
    token("dp.audit.", DOTTED, 24, "doppler-token"),
    common("sl.A", WORD, 100, "dropbox-token"),
    common("sl.B", WORD, 100, "dropbox-token"),
    common("sl.u.", WORD, 100, "dropbox-token"),
    TokenPattern {
        anchor: 3,
        ..token("duffel_test_", WORD, 32, "duffel-token")
    },
    TokenPattern {
        anchor: 3,
        ..token("duffel_live_", WORD, 32, "duffel-token")
    },
    token("dt0c01.", DOTTED, 48, "dynatrace-token"),
    token("dt0s16.", DOTTED, 48, "dynatrace-token"),
    common("EZAK", ALNUM, 48, "easypost-key"),
    common("EZTK", ALNUM, 48, "easypost-key"),
    common("sk_", HEX, 40, "api-key"),
    common("EAA", ALNUM, 80, "facebook-token"),
    token("figoh_", WORD, 24, "figma-token"),
    token("figor_", WORD, 24, "figma-token"),
    common("fc-", HEX, 32, "firecrawl-key"),
    token("FLWSECK", WORD, 20, "flutterwave-key"),
    token("fo1_", WORD, 32, "fly-token"),
    token("fm1a_", BASE64, 32, "fly-token"),
    token("fm1r_", BASE64, 32, "fly-token"),
    token("fm2_", BASE64, 32, "fly-token"),
    token("fio-u-", WORD, 40, "frameio-token"),
    token("glft-", DOTTED, 16, "gitlab-token"),
    TokenPattern {
        anchor: 2,
        ..token("glimt-", DOTTED, 16, "gitlab-token")
    },
    token("glagent-", DOTTED, 16, "gitlab-token"),
    TokenPattern {
        anchor: 2,
        ..token("gloas-", DOTTED, 16, "gitlab-token")
    },
    token("glffct-", DOTTED, 16, "gitlab-token"),
    token("glwt-", DOTTED, 16, "gitlab-token"),
    token("glrtr-", DOTTED, 16, "gitlab-token"),
    token("GR1348941", WORD, 16, "gitlab-token"),
    common("1//0", WORD, 40, "google-token"),
    token("eyJrIjoi", BASE64, 48, "grafana-token"),
    token("HRKU-", WORD, 40, "heroku-key"),
    token("hcaik_", ALNUM, 40, "honeycomb-key"),
    token("hcxik_", ALNUM, 40, "honeycomb-key"),
    TokenPattern {
        anchor: 3,
        ..token("pat-na1-", WORD, 32, "hubspot-token")
    },
    TokenPattern {
        anchor: 3,
        ..token("pat-na2-", WORD, 32, "hubspot-token")
    },
    TokenPattern {
        anchor: 3,
        ..token("pat-eu1-", WORD, 32, "hubspot-token")
    },
    TokenPattern {
        anchor: 3,
        ..token("api_org_", ALNUM, 30, "huggingface-token")
    },
    common("ico-", ALNUM, 32, "infracost-key"),
    token("dG9rO", BASE64, 48, "intercom-token"),
    token("s-s4t2ud-", HEX, 40, "intra42-secret"),
    token("s-s4t2af-", HEX, 40, "intra42-secret"),
    token("sk-lf-", WORD, 32, "langfuse-key"),
    common("sdk-", HEX | set(b"-"), 36, "launchdarkly-key"),
    common("mob-", HEX | set(b"-"), 36, "launchdarkly-key"),
    TokenPattern {
        before: (HEX, 32),
        ..token("-us", DIGITS, 1, "mailchimp-key")
    },
    token("mlsn.", HEX, 40, "mailersend-token"),
    common("key-", HEX, 32, "mailgun-key"),
    token("sk.eyJ", DOTTED, 48, "mapbox-token"),
    TokenPattern {
        before: (ALNUM | set(b"_"), 36),
        ..token("_mmk", ALNUM, 0, "maxmind-key")
    },
    token("mdb_sa_sk_", WORD, 32, "mongodb-secret"),
    token("nfp_", ALNUM, 30, "netlify-token"),
    token("nfc_", ALNUM, 30, "netlify-token"),
    token("nfu_", ALNUM, 30, "netlify-token"),
    token("nfb_", ALNUM, 30, "netlify-token"),
    token("NRII-", WORD, 24, "newrelic-key"),
    token("NRIQ-", WORD, 24, "newrelic-key"),
    token("NRJS-", HEX, 16, "newrelic-key"),
    common("secret_", ALNUM, 40, "notion-token"),
    common("oy2", ALNUM, 40, "nuget-key"),
    TokenPattern {
        anchor: 4,
        ..token("sha256~", WORD, 40, "openshift-token")
    },
    token("ovsxat_", WORD, 32, "openvsx-token"),
    token("pdl_live_apikey_", WORD, 32, "paddle-key"),
    token("pdl_sdbx_apikey_", WORD, 32, "paddle-key"),
    token("pcsk_", WORD, 40, "pinecone-key"),
    TokenPattern {
        anchor: 5,
        ..token("access-sandbox-", WORD, 32, "plaid-token")
    },
    TokenPattern {
        anchor: 5,
        ..token("access-development-", WORD, 32, "plaid-token")
    },
    TokenPattern {
        anchor: 5,
        ..token("access-production-", WORD, 32, "plaid-token")
    },
    token("phx_", ALNUM, 32, "posthog-key"),
    token("pnu_", ALNUM, 32, "prefect-token"),
    token("pnb_", ALNUM, 32, "prefect-token"),
    token("pul-", HEX, 36, "pulumi-token"),
    token("rzp_live_", ALNUM, 14, "razorpay-key"),
    token("rzp_test_", ALNUM, 14, "razorpay-key"),
    token("rdme_", ALNUM, 48, "readme-key"),
    common("r8_", ALNUM, 32, "replicate-token"),
    TokenPattern {
        anchor: 2,
        ..token("rootly_", HEX, 40, "rootly-token")
    },
    token("rpa_", ALNUM, 36, "runpod-key"),
    TokenPattern {
        before: (ALNUM, 15),
        ..token("!AQ", DOTTED, 60, "salesforce-token")
    },
    token("tk-us-", WORD, 40, "scalingo-token"),
    token("tk-eu-", WORD, 40, "scalingo-token"),
    token("sgp_", WORD, 40, "sourcegraph-token"),
    token("slk_", HEX, 40, "sourcegraph-token"),
    token("sntrya_", HEX, 24, "sentry-token"),
    token("sntryi_", HEX, 24, "sentry-token"),
    token("sm_aat_", ALNUM, 16, "settlemint-token"),
    token("sm_pat_", ALNUM, 16, "settlemint-token"),
    token("sm_sat_", ALNUM, 16, "settlemint-token"),
    token("shippo_live_", HEX, 32, "shippo-token"),
    token("shippo_test_", HEX, 32, "shippo-token"),
    token("shptka_", HEX, 24, "shopify-token"),
    token("shpua_", HEX, 24, "shopify-token"),
    token("xwfp-", WORD, 20, "slack-token"),
    token("snyk_uat.", DOTTED, 24, "snyk-token"),
    token("squ_", HEX, 36, "sonarqube-token"),
    token("sqp_", HEX, 36, "sonarqube-token"),
    token("sqa_", HEX, 36, "sonarqube-token"),
    token("sk_sbox_", ALNUM, 16, "api-key"),
    token("tskey-", WORD, 20, "tailscale-key"),
    TokenPattern {
        anchor: 4,
        before: (ALNUM, 14),
        ..token(".atlasv1.", WORD, 48, "terraform-token")
    },
    token("tgp_v1_", WORD, 32, "together-key"),
    TokenPattern {
        anchor: 1,
        ..common("ATTA", HEX, 48, "trello-token")
    },
    common("AAAAAAAAAAAAAAAAAAAAA", BASE64, 40, "twitter-token"),
    token("tfp_", WORD, 40, "typeform-token"),
    token("hvr.", WORD, 20, "vault-token"),
    token("vcp_", ALNUM, 32, "vercel-token"),
    token("vci_", ALNUM, 32, "vercel-token"),
    token("vca_", ALNUM, 32, "vercel-token"),
    token("vcr_", ALNUM, 32, "vercel-token"),
    token("vck_", ALNUM, 32, "vercel-token"),
    token("vtwn_", ALNUM, 24, "valtown-token"),
    TokenPattern {
        anchor: 3,
        ..token("wandb_v1_", WORD, 32, "wandb-key")
    },
    common("AQVN", WORD, 32, "yandex-key"),
    common("y0_A", WORD, 48, "yandex-token"),
    token("zpka_", WORD, 32, "zuplo-key"),
    TokenPattern {
        anchor: 3,
        ..token("sup_sk_", ALNUM, 24, "sumup-key")
    },
    TokenPattern {
        anchor: 3,
        ..common("testsk_", ALNUM, 24, "svix-token")
    },
    TokenPattern {
        anchor: 3,
        ..token("webhook.office.com/webhookb2/", PATH, 40, "teams-webhook")
    },
    token("X-Amz-Signature=", HEX, 40, "aws-signature"),
    token("outlook.office.com/webhook/", PATH, 40, "teams-webhook"),
    token("hooks.zapier.com/hooks/catch/", PATH, 8, "zapier-webhook"),
    token("MIIEvQIBADAN", BASE64, 24, "private-key"),
    token("MIIEvgIBADAN", BASE64, 24, "private-key"),
    token("MIIEvAIBADAN", BASE64, 24, "private-key"),
    token("MIIJQgIBADAN", BASE64, 24, "private-key"),
    token("MIIJQwIBADAN", BASE64, 24, "private-key"),
    token("MIICdgIBADAN", BASE64, 24, "private-key"),
    token("MIICdwIBADAN", BASE64, 24, "private-key"),
    token("MIIEowIBAAKC", BASE64, 24, "private-key"),
    token("MIIEpAIBAAKC", BASE64, 24, "private-key"),
    token("MIIEogIBAAKC", BASE64, 24, "private-key"),
    token("MIIEpQIBAAKC", BASE64, 24, "private-key"),
    token("MIIJKAIBAAKC", BASE64, 24, "private-key"),
    token("MIIJKQIBAAKC", BASE64, 24, "private-key"),
    token("MIIJKgIBAAKC", BASE64, 24, "private-key"),
    token("MIICXAIBAAKB", BASE64, 24, "private-key"),
    token("MIICXQIBAAKB", BASE64, 24, "private-key"),
    token("MIICWwIBAAKB", BASE64, 24, "private-key"),
    token("MHcCAQEEI", BASE64, 24, "private-key"),
    TokenPattern {
        anchor: 8,
        ..token("MIGHAgEAMBMG", BASE64, 24, "private-key")
    },
    token("MC4CAQAwBQYDK2Vw", BASE64, 24, "private-key"),
    token("b3BlbnNzaC1rZXktdjE", BASE64, 24, "private-key"),
];

const fn set(characters: &[u8]) -> Alphabet {
    let mut bits = 0;
    let mut i = 0;
    while i < characters.len() {
        bits |= 1 << characters[i];
        i += 1;
    }
    bits
}
