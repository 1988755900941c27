//! White-box tests of `pace.rs`.

use proptest::prelude::*;

use super::*;

const RATE: SendRate = SendRate {
    bytes: 1024,
    window: Duration::from_secs(30),
};
const HOUR: Duration = Duration::from_secs(3600);

/// A client that reads at a rate, and whose kernel acknowledges in steps after a first burst.
#[derive(Clone, Copy, Debug)]
struct Client {
    bytes_per_second: u64,
    step: u64,
    burst: u64,
    segment: u64,
}

impl Client {
    fn acknowledged(&self, time: Duration) -> Acknowledged {
        let read = time.as_millis() as u64 * self.bytes_per_second / 1000;
        Acknowledged {
            bytes: self.burst + read / self.step * self.step,
            segment: self.segment,
        }
    }

    /// When the client is cut off, if that is within an hour.
    fn cut(&self) -> Option<Duration> {
        let (mut pace, mut time) = (ReadingPace::new(RATE), Duration::ZERO);
        while time < HOUR {
            let waited = pace.next_look();
            time += waited;
            if pace.note(waited, self.acknowledged(time)).is_err() {
                return Some(time);
            }
        }
        None
    }
}

proptest! {
    #[test]
    fn a_client_at_the_minimum_rate_is_never_cut_off(
        bytes_per_second in 1024_u64..100_000,
        step in 1_u64..=128 * 1024,
        burst in 0_u64..1 << 22,
        segment in 536_u64..=65_536,
    ) {
        let client = Client { bytes_per_second, step, burst, segment };
        // What comes in larger steps than in half a minute cannot be told from nothing.
        let is_seen = step <= bytes_per_second * 29 + segment.min(SEGMENT_BYTES_MAX);
        prop_assume!(is_seen);
        prop_assert_eq!(client.cut(), None);
    }

    #[test]
    fn a_client_at_320_bytes_per_second_is_cut_off_in_75_seconds(
        step in 1_u64..=128 * 1024,
        burst in 0_u64..1 << 22,
        segment in 536_u64..=65_536,
    ) {
        prop_assume!(step >= segment || segment <= 1460);
        let client = Client { bytes_per_second: 320, step, burst, segment };
        let cut = client.cut().expect("a cut");
        prop_assert!(cut <= Duration::from_secs(75), "{:?}", cut);
    }
}

#[test]
fn a_client_that_stops_reading_is_cut_off_after_the_window() {
    let client = Client {
        bytes_per_second: 0,
        step: 1,
        burst: 1 << 20,
        segment: 1460,
    };
    let cut = client.cut().expect("a cut").as_secs_f64();
    assert!((30.0..37.0).contains(&cut), "{cut}");
}

#[test]
fn no_number_overflows() {
    let rate = SendRate {
        bytes: 1,
        window: Duration::from_secs(1),
    };
    let mut pace = ReadingPace::new(rate);
    for bytes in [u64::MAX, 0, u64::MAX] {
        let now = Acknowledged {
            bytes,
            segment: u64::MAX,
        };
        let _ = pace.note(Duration::MAX, now);
    }
}
