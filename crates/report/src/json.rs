//! What all documents in JSON have in common: numbers in full precision, times in seconds, infinity and what is not
//! known `null`.

use serde::{Serialize, Serializer};

/// A document as people read JSON: indented, with a line end.
#[expect(clippy::missing_panics_doc, reason = "a document is made of what JSON has")]
pub fn render(document: &impl Serialize) -> Vec<u8> {
    let mut json = serde_json::to_vec_pretty(document).expect("the keys of all maps are texts");
    json.push(b'\n');
    json
}

/// What a document begins with.
#[derive(Serialize)]
pub struct Head<'r> {
    /// Its format and the version of that: `fantail.predict/1`.
    pub schema: &'static str,
    /// Of like branches, how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// The latency of one call of them, as it was stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<&'r str>,
}

/// A map that keeps its order.
pub struct Ordered<K, V>(pub Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Ordered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// JSON has no infinity.
pub fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
