//! Whatever the text, reading it ends in what it says or in problems that can be shown.

#![no_main]

#[path = "../../crates/planfile/tests/support/texts.rs"]
mod texts;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    texts::load(bytes);
    if let Some(line) = bytes.split(|byte| *byte == b'\n').next().filter(|line| line.len() < 200) {
        texts::read(&String::from_utf8_lossy(line));
    }
});
