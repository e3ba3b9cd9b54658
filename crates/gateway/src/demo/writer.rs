//! Writes documents for the traffic: small contracts, invoices and letters, no two alike.

use serde_json::json;

use super::draws::Draws;

const COMPANIES: [&str; 8] = [
    "Harbour Analytics Ltd",
    "Nordwind Logistik GmbH",
    "Alder and Finch LLC",
    "Mistral Instruments SARL",
    "Copperfield Foods plc",
    "Tidewater Robotics Inc",
    "Zuidas Data BV",
    "Rheintal Werkzeuge AG",
];
const MONTHS: [&str; 6] = ["January", "March", "May", "June", "September", "November"];
const SUBJECTS: [&str; 5] = [
    "a forecast of arrivals",
    "spare parts",
    "the upkeep of the cold store",
    "translations",
    "a weighbridge",
];

/// Document number `number` of a seed.
pub(super) fn document(seed: u64, number: usize) -> String {
    let mut draws = Draws::new(seed, &format!("document {number}"));
    let first = draws.below(COMPANIES.len());
    let second = (first + 1 + draws.below(COMPANIES.len() - 1)) % COMPANIES.len();
    let (from, to) = (COMPANIES[first], COMPANIES[second]);
    let subject = draws.pick(&SUBJECTS);
    let mut date = || format!("{} {} {}", 1 + draws.below(28), draws.pick(&MONTHS), 2024 + draws.below(3));
    let (day, end) = (date(), date());
    let mut sum = || (1 + draws.below(400)) * 250;
    let (fee, most) = (sum(), sum());
    let (title, text) = match draws.below(3) {
        0 => (
            "Agreement",
            format!(
                "AGREEMENT between {from} and {to}. This contract starts on {day} and its term ends on {end}. \
                 {from} delivers {subject}; {to} pays EUR {fee} a month. Neither party's liability exceeds EUR {most}."
            ),
        ),
        1 => (
            "Invoice",
            format!(
                "INVOICE of {from} to {to}, {day}. For {subject}: EUR {fee}. VAT EUR {most}. Total due by {end}."
            ),
        ),
        _ => (
            "Letter",
            format!(
                "Dear colleagues of {to}, thank you for your letter of {day} on {subject}. {from} offers USD {fee} \
                 if we agree by {end}. With kind regards, {from}."
            ),
        ),
    };
    json!({ "id": format!("demo-{number}"), "title": title, "text": text }).to_string()
}
