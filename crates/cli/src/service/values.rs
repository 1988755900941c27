//! How the values of the options of `serve` are read.

use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use signaldex_server::Limits;

/// Reads a host name, in the form that a `Host` header has it in, without a port.
pub(super) fn parse_host_name(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_allowed) {
        return Ok(text.to_owned());
    }
    Err("a host name is needed, such as dash.example, without scheme and port".to_owned())
}

/// The shortest time of an option: with a shorter one, nothing would be done in time.
const SECONDS_MIN: f64 = 0.001;

/// How many connections, requests, exports or charges there may be at once. None would serve nothing.
pub(super) fn parse_concurrent() -> RangedU64ValueParser<usize> {
    parse_number(Limits::CONCURRENT_MAX)
}

pub(super) fn parse_number(max: usize) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=max as u64)
}

pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    parse_seconds_from(SECONDS_MIN, text)
}

/// Seconds that are compared with and not waited for.
pub(super) fn parse_short_seconds(text: &str) -> Result<Duration, String> {
    parse_seconds_from(0.000_001, text)
}

fn parse_seconds_from(min: f64, text: &str) -> Result<Duration, String> {
    let max = Limits::TIME_MAX.as_secs_f64();
    let seconds = text.parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| (min..=max).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("a number of seconds from {min} to {max} is needed"))
}
