//! What the upstreams find in a document, by plain rules: no model, but no canned answer either.

use serde_json::{Value, json};

/// The answer of the upstream for `branch` on the request's body.
pub(super) fn answer(branch: &str, document: &Value) -> Value {
    let text = text_of(document);
    match branch {
        "type" => json!(kind(&text)),
        "parties" => json!(parties(&text)),
        "dates" => json!(dates(&text)),
        "amounts" => amounts(&text).iter().map(Amount::json).collect(),
        "summary" => json!(summary(&text)),
        _ => json!({ "branch": branch, "words": text.split_whitespace().count() }),
    }
}

/// The document's text: its member `text`, or else every text in it.
fn text_of(document: &Value) -> String {
    fn collect(value: &Value, text: &mut String) {
        match value {
            Value::String(part) => {
                text.push_str(part);
                text.push(' ');
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, text)),
            Value::Object(map) => map.values().for_each(|value| collect(value, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    if let Some(text) = document.get("text").and_then(Value::as_str) {
        return text.to_owned();
    }
    let mut text = String::new();
    collect(document, &mut text);
    text
}

/// The kind whose words come most often.
fn kind(text: &str) -> &'static str {
    const KINDS: [(&str, &[&str]); 4] = [
        ("contract", &["agreement", "contract", "party", "liability", "term"]),
        ("invoice", &["invoice", "payable", "due", "vat", "total"]),
        ("letter", &["dear", "sincerely", "regards", "thank"]),
        ("minutes", &["minutes", "attendees", "agenda", "resolved"]),
    ];
    let words: Vec<String> = words(text).map(str::to_lowercase).collect();
    let score = |marks: &[&str]| words.iter().filter(|word| marks.contains(&word.as_str())).count();
    let scored = KINDS.iter().map(|(kind, marks)| (score(marks), *kind));
    // The first of several with the same score.
    scored
        .rev()
        .max_by_key(|(score, _)| *score)
        .filter(|(score, _)| *score > 0)
        .map_or("other", |(_, kind)| kind)
}

/// Companies: capitalized words up to a legal form.
fn parties(text: &str) -> Vec<String> {
    const FORMS: [&str; 9] = ["Ltd", "Limited", "GmbH", "AG", "Inc", "LLC", "plc", "BV", "SARL"];
    let mut found = Vec::new();
    let mut name: Vec<&str> = Vec::new();
    for token in text.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        if !word.starts_with(char::is_uppercase) {
            name.clear();
            continue;
        }
        name.push(word);
        if FORMS.contains(&word) && name.len() > 1 {
            let party = name.join(" ");
            if !found.contains(&party) {
                found.push(party);
            }
            name.clear();
        } else if !token.ends_with(char::is_alphanumeric) {
            // Punctuation ends a name.
            name.clear();
        }
    }
    found
}

/// Dates as ISO 8601, from `2026-03-01` and `1 March 2026`, in the order of the text, each once.
fn dates(text: &str) -> Vec<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let words: Vec<&str> = words(text).collect();
    let mut found: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let date = iso_date(word).or_else(|| {
            let month = MONTHS.iter().position(|month| month == word)? + 1;
            let day: u32 = words.get(at.checked_sub(1)?)?.parse().ok()?;
            let year: u32 = words.get(at + 1)?.parse().ok()?;
            ((1..=31).contains(&day) && year >= 1000).then(|| format!("{year:04}-{month:02}-{day:02}"))
        });
        if let Some(date) = date.filter(|date| !found.contains(date)) {
            found.push(date);
        }
    }
    found
}

fn iso_date(word: &str) -> Option<String> {
    let digits = |part: &str, n: usize| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = word.split('-');
    let is_date = digits(parts.next()?, 4) && digits(parts.next()?, 2) && digits(parts.next()?, 2);
    (is_date && parts.next().is_none()).then(|| word.to_owned())
}

struct Amount {
    currency: &'static str,
    /// Digits and perhaps a decimal point.
    number: String,
}

impl Amount {
    fn value(&self) -> f64 {
        self.number.parse().unwrap_or(0.0)
    }

    fn json(&self) -> Value {
        let number = self.number.parse::<u64>().map_or_else(|_| json!(self.value()), Value::from);
        json!({ "currency": self.currency, "value": number })
    }
}

/// Sums of money: `EUR 18,500`, `€900`.
fn amounts(text: &str) -> Vec<Amount> {
    const CURRENCIES: [(&str, &str); 6] =
        [("EUR", "EUR"), ("USD", "USD"), ("GBP", "GBP"), ("€", "EUR"), ("$", "USD"), ("£", "GBP")];
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let token = token.trim_start_matches(['(', '"']);
        for (sign, currency) in CURRENCIES {
            let Some(rest) = token.strip_prefix(sign) else { continue };
            let number = if rest.is_empty() { tokens.get(at + 1).copied().unwrap_or_default() } else { rest };
            let number = number.trim_end_matches(|c: char| !c.is_ascii_digit()).replace(',', "");
            if number.parse::<f64>().is_ok() && number.starts_with(|c: char| c.is_ascii_digit()) {
                found.push(Amount { currency, number });
            }
            break;
        }
    }
    found
}

/// Two sentences from what the other rules find.
fn summary(text: &str) -> String {
    let kind = kind(text);
    let parties = parties(text);
    let who = match parties.as_slice() {
        [] => String::new(),
        [one] => format!(" of {one}"),
        [first, .., last] => format!(" between {first} and {last}"),
    };
    let when = dates(text).into_iter().next().map(|date| format!(", first dated {date}")).unwrap_or_default();
    let amounts = amounts(text);
    let largest = amounts.iter().max_by(|a, b| a.value().total_cmp(&b.value()));
    let money = match largest {
        None => "It names no sum of money".to_owned(),
        Some(largest) if amounts.len() == 1 => format!("It names {} {}", largest.currency, largest.number),
        Some(largest) => {
            format!("It names {} sums, the largest {} {}", amounts.len(), largest.currency, largest.number)
        }
    };
    let article = if kind.starts_with(['i', 'o']) { "An" } else { "A" };
    let kind = if kind == "other" { "other document" } else { kind };
    format!("{article} {kind}{who}{when}. {money}, in {} words.", text.split_whitespace().count())
}

/// The words, without the punctuation around them.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_document_is_read() {
        let document: Value =
            serde_json::from_str(include_str!("../../../../examples/document.json")).unwrap();
        let check =
            |branch: &str, expected: Value| assert_eq!(answer(branch, &document), expected, "{branch}");
        check("type", json!("contract"));
        check("parties", json!(["Harbour Analytics Ltd", "Nordwind Logistik GmbH"]));
        check("dates", json!(["2026-03-01", "2026-02-12"]));
        let eur = |value: u32| json!({"currency": "EUR", "value": value});
        check("amounts", [18_500, 42_000, 900, 5_400, 500_000].map(eur).to_vec().into());
        let summary = answer("summary", &document);
        assert_eq!(
            summary.as_str().unwrap().split_once(", in ").unwrap().0,
            "A contract between Harbour Analytics Ltd and Nordwind Logistik GmbH, first dated 2026-03-01. \
             It names 5 sums, the largest EUR 500000"
        );
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for document in
            [json!({}), json!("1 May"), json!({"text": ""}), json!([1, null, {"a": "EUR x, $ 2-"}])]
        {
            assert_eq!(answer("type", &document), "other");
            assert_eq!(answer("parties", &document), json!([]));
            assert_eq!(answer("dates", &document), json!([]));
            assert!(
                answer("summary", &document).as_str().unwrap().starts_with("An other document. It names ")
            );
        }
        assert_eq!(
            answer("amounts", &json!("pay £1,200.50 or (USD 3) by 2026-01-31")),
            json!([
                {"currency": "GBP", "value": 1200.5}, {"currency": "USD", "value": 3}
            ])
        );
    }
}
