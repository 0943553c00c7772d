//! Prices of tokens: a built-in list that goes out of date, and the user's overrides.

use std::str::FromStr;

/// Price of a million tokens, in micro-dollars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Prefix of the model's name.
    model: String,
    tokens_in: u64,
    tokens_out: u64,
}

/// List prices in dollars per million input and output tokens; the first matching prefix counts.
const LIST: &str = "\
claude-haiku-5=0.10/0.50
claude-haiku-4=1/5
claude-sonnet-5=2/10
claude-sonnet-4=3/15
claude-opus-5=4/20
claude-opus-4-0=15/75
claude-opus-4-1=15/75
claude-opus-4=5/25
gpt-4.1-nano=0.10/0.40
gpt-4.1-mini=0.40/1.60
gpt-4.1=2/8
gpt-4o-mini=0.15/0.60
gpt-4o=2.50/10
gpt-5-nano=0.05/0.40
gpt-5-mini=0.25/2
gpt-5=1.25/10
gemini-2.5-flash-lite=0.10/0.40
gemini-2.5-flash=0.30/2.50
gemini-2.5-pro=1.25/10";

/// Error for a text that is not a price.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a price: expected a model and dollars per million input and output tokens, such as gpt-5-mini=0.25/2"
)]
pub struct NotAPrice(String);

impl Price {
    /// Returns the cost of a call, in micro-dollars.
    pub fn cost(&self, tokens_in: u64, tokens_out: u64) -> u64 {
        let part = |tokens: u64, price: u64| tokens.saturating_mul(price).div_ceil(1_000_000);
        part(tokens_in, self.tokens_in) + part(tokens_out, self.tokens_out)
    }
}

impl FromStr for Price {
    type Err = NotAPrice;

    fn from_str(text: &str) -> Result<Self, NotAPrice> {
        let wrong = || NotAPrice(text.to_owned());
        let (model, prices) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (tokens_in, tokens_out) = prices.split_once('/').ok_or_else(wrong)?;
        let model = model.trim();
        match (micro_dollars(tokens_in), micro_dollars(tokens_out)) {
            (Some(tokens_in), Some(tokens_out)) if !model.is_empty() => Ok(Self {
                model: model.to_owned(),
                tokens_in,
                tokens_out,
            }),
            _ => Err(wrong()),
        }
    }
}

/// Parses dollars with at most six decimals, without floating point.
fn micro_dollars(text: &str) -> Option<u64> {
    let (dollars, cents) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
    let is_digits =
        |text: &str| !text.is_empty() && text.len() <= 6 && text.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(dollars) || !is_digits(cents) {
        return None;
    }
    let millionths: u64 = format!("{cents:0<6}").parse().ok()?;
    Some(dollars.parse::<u64>().ok()? * 1_000_000 + millionths)
}

/// Finds the price of a model: the user's, else the list's; `None` if it is unknown.
pub fn price(model: &str, own: &[Price]) -> Option<Price> {
    // OpenRouter prefixes the name with the vendor.
    let name = model.rsplit('/').next().unwrap_or(model);
    let fits = |price: &&Price| model.starts_with(&price.model) || name.starts_with(&price.model);
    own.iter().find(fits).cloned().or_else(|| {
        LIST.lines()
            .filter_map(|line| line.parse().ok())
            .find(|one| fits(&one))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_a_price() {
        for line in LIST.lines() {
            assert!(line.parse::<Price>().is_ok(), "{line}");
        }
    }

    #[test]
    fn prices_of_the_user_override_the_list() {
        let own: Vec<Price> = vec!["claude-haiku=2/10".parse().unwrap()];
        assert_eq!(
            price("claude-haiku-4-5", &own).unwrap().cost(1_000_000, 1_000),
            2_010_000
        );
        assert_eq!(price("claude-haiku-4-5", &[]).unwrap().cost(6_000, 800), 10_000);
        assert_eq!(
            price("openai/gpt-4o-mini", &[]).unwrap().cost(1_000_000, 0),
            150_000
        );
        assert_eq!(price("llama3.2", &own), None);
        for wrong in ["", "x", "x=1", "=1/2", "x=a/b", "x=1/-2", "x=1.1234567/2", "x=1/"] {
            assert!(wrong.parse::<Price>().is_err(), "{wrong}");
        }
    }
}
