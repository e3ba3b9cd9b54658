//! Exact decimals from zero to one: shares, and probabilities in deep tails.

/// The most digits after the point that are kept; a probability finer than this is refused.
const MOST_DIGITS: usize = 330;

/// A number from 0 to 1, exactly as written.
///
/// The digits after the point, without trailing zeros; one has its own flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    one: bool,
    digits: Vec<u8>,
}

impl Decimal {
    /// Reads `0.95`, `1`, `.5` or `1e-12`; `None` when it is no such number or not from 0 to 1.
    pub(crate) fn parse(text: &str) -> Option<Decimal> {
        Decimal::parse_scaled(text, 0)
    }

    /// Reads `99.9` as 0.999: a number of percent.
    pub(crate) fn parse_percent(text: &str) -> Option<Decimal> {
        Decimal::parse_scaled(text, -2)
    }

    /// Reads `text` times ten to the power `scale`.
    fn parse_scaled(text: &str, scale: i32) -> Option<Decimal> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|c| c.wrapping_sub(b'0')).collect();
        if digits.is_empty() || digits.iter().any(|&digit| digit > 9) {
            return None;
        }
        // The value is 0.digits times ten to the power `point`.
        let point = i32::try_from(whole.len()).ok()? + i32::from(exponent) + scale;
        let leading = digits.iter().take_while(|&&digit| digit == 0).count();
        let mut digits = digits[leading..].to_vec();
        while digits.last() == Some(&0) {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Decimal { one: false, digits });
        }
        let point = point - i32::try_from(leading).ok()?;
        match point {
            1 if digits == [1] => Some(Decimal { one: true, digits: Vec::new() }),
            1.. => None,
            _ => {
                let zeros = usize::try_from(-point).ok()?;
                if zeros + digits.len() > MOST_DIGITS {
                    return None;
                }
                digits.splice(0..0, std::iter::repeat_n(0, zeros));
                Some(Decimal { one: false, digits })
            }
        }
    }

    /// One less this, exactly.
    pub(crate) fn complement(&self) -> Decimal {
        if self.digits.is_empty() {
            return Decimal { one: !self.one, digits: Vec::new() };
        }
        // The last digit is not zero, so the borrow stops at it.
        let last = self.digits.len() - 1;
        let digits =
            self.digits.iter().enumerate().map(|(i, d)| if i == last { 10 - d } else { 9 - d }).collect();
        Decimal { one: false, digits }
    }

    /// The nearest double.
    pub(crate) fn to_f64(&self) -> f64 {
        let text = format!("{}.{}", u8::from(self.one), ascii(&self.digits));
        text.parse().expect("digits and a point are a number")
    }

    /// As a number of percent: 0.999 is `99.9`.
    pub(crate) fn percent(&self) -> String {
        if self.one {
            return "100".to_owned();
        }
        let mut digits = self.digits.clone();
        digits.resize(digits.len().max(2), 0);
        let (whole, fraction) = digits.split_at(2);
        let whole = whole[0] * 10 + whole[1];
        if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{}", ascii(fraction)) }
    }

    /// As digits and a power of ten: 0.00012 is `1.2e-4`.
    pub(crate) fn scientific(&self) -> String {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        match &self.digits[zeros..] {
            [] => u8::from(self.one).to_string(),
            [first] => format!("{first}e-{}", zeros + 1),
            [first, rest @ ..] => format!("{first}.{}e-{}", ascii(rest), zeros + 1),
        }
    }

    /// In parts per million; `None` when it is finer than that.
    pub(crate) fn ppm(&self) -> Option<u32> {
        if self.one {
            return Some(fantail_core::plan::PPM);
        }
        if self.digits.len() > 6 {
            return None;
        }
        let mut digits = self.digits.clone();
        digits.resize(6, 0);
        Some(digits.iter().fold(0, |total, &digit| total * 10 + u32::from(digit)))
    }

    /// Whether it is neither zero nor one.
    pub(crate) fn is_inside(&self) -> bool {
        !self.digits.is_empty()
    }

    /// The sum when it is at most one.
    pub(crate) fn checked_add(&self, other: &Decimal) -> Option<Decimal> {
        if self.one || other.one {
            let rest = if self.one { other } else { self };
            return (!rest.one && rest.digits.is_empty()).then(|| Decimal { one: true, digits: Vec::new() });
        }
        let length = self.digits.len().max(other.digits.len());
        let digit = |decimal: &Decimal, i: usize| decimal.digits.get(i).copied().unwrap_or(0);
        let mut digits = vec![0; length];
        let mut carry = 0;
        for i in (0..length).rev() {
            let sum = digit(self, i) + digit(other, i) + carry;
            digits[i] = sum % 10;
            carry = sum / 10;
        }
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let one = carry == 1;
        (!one || digits.is_empty()).then_some(Decimal { one, digits })
    }

    /// Whether it is one.
    pub(crate) fn is_one(&self) -> bool {
        self.one
    }
}

/// A share like `95%` or `0.95`, in parts per million, exactly.
///
/// # Errors
/// What is wrong with the text, to follow its name.
pub(crate) fn share(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let parsed = match text.strip_suffix('%') {
        Some(percent) => Decimal::parse_percent(percent.trim_end()),
        None => Decimal::parse(text),
    };
    let expected = "expected a share from 0% to 100%, like 95% or 0.95";
    let Some(decimal) = parsed else {
        return Err(format!("{} is not a share; {expected}", crate::problem::quote(text)));
    };
    decimal
        .ppm()
        .ok_or_else(|| format!("{} is finer than one part per million, 0.0001%", crate::problem::quote(text)))
}

fn ascii(digits: &[u8]) -> String {
    digits.iter().map(|digit| char::from(b'0' + digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        let check = |text, expected: Result<u32, &str>| match (share(text), expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{text}"),
            (Err(got), Err(expected)) => assert!(got.contains(expected), "{text}: {got}"),
            (got, expected) => panic!("{text}: {got:?} instead of {expected:?}"),
        };
        check("95%", Ok(950_000));
        check("0.95", Ok(950_000));
        check("0.0001%", Ok(1));
        check("100%", Ok(1_000_000));
        check("1", Ok(1_000_000));
        check("0", Ok(0));
        check("0.290000000", Ok(290_000));
        check("29 %", Ok(290_000));
        check("0.00001%", Err("finer than one part per million"));
        check("101%", Err("is not a share"));
        check("1.01", Err("is not a share"));
        check("95", Err("like 95% or 0.95"));
        check("-5%", Err("is not a share"));
        check("", Err("is not a share"));
        check("%", Err("is not a share"));
        check(".", Err("is not a share"));
        check("1e-999999", Err("is not a share"));
    }

    #[test]
    fn sums_and_complements_are_exact() {
        let d = |text| Decimal::parse(text).unwrap();
        assert_eq!(d("0.999999").complement(), d("1e-6"));
        assert_eq!(d("0").complement(), d("1.0"));
        assert_eq!(d("1").complement(), d("0"));
        assert_eq!(d("0.3").checked_add(&d("0.7")), Some(d("1")));
        assert_eq!(d("0.35").checked_add(&d("0.65000")), Some(d("1")));
        assert_eq!(d("0.35").checked_add(&d("0.15")), Some(d("0.5")));
        assert_eq!(d("0.35").checked_add(&d("0.66")), None);
        assert_eq!(d("1").checked_add(&d("0")), Some(d("1")));
        assert_eq!(d("1").checked_add(&d("0.1")), None);
    }
}
