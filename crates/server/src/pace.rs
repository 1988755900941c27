//! How fast a client reads: the bytes that it acknowledges while data waits to be sent.
//!
//! The kernel accepts bytes in large steps, so what it accepts says little about a slow client. What the
//! client's kernel acknowledges does, in steps of a segment or a part of its receive buffer.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// Maximum size of a step for which a client gets the time that it takes at the minimum rate.
const STEP_BYTES_MAX: u64 = 128 * 1024;
/// Maximum size of a segment for which a client gets that time at once; those of a loopback are larger.
const SEGMENT_BYTES_MAX: u64 = 32 * 1024;
/// How often a client is looked at in the time in which it may acknowledge nothing.
const LOOKS: u32 = 6;

/// The minimum rate of clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendRate {
    /// Bytes per second, at least 1.
    pub(super) bytes: u64,
    /// How long a client may stop reading.
    pub(super) window: Duration,
}

/// What a client has acknowledged so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acknowledged {
    pub(super) bytes: u64,
    /// Maximum bytes of a segment.
    pub(super) segment: u64,
}

/// The pace of one client.
#[derive(Debug)]
pub(super) struct ReadingPace {
    rate: SendRate,
    /// How long the client may go on without acknowledging anything.
    left: Duration,
    acknowledged: u64,
    /// Whether nothing was acknowledged at the last look, or for longer.
    was_silent: bool,
}

/// The error of a connection whose client reads too slowly.
#[derive(Debug)]
pub(super) struct TooSlow;

impl ReadingPace {
    pub(super) fn new(rate: SendRate) -> ReadingPace {
        ReadingPace {
            rate,
            left: rate.window,
            acknowledged: 0,
            was_silent: false,
        }
    }

    /// Notes what the client has acknowledged after data has waited for some more time.
    ///
    /// # Errors
    /// The client is slower than the minimum rate.
    pub(super) fn note(&mut self, waited: Duration, now: Acknowledged) -> Result<(), TooSlow> {
        let new = now.bytes.saturating_sub(self.acknowledged);
        self.acknowledged = now.bytes;
        // A client that acknowledges whole segments is silent in between.
        let segment = now.segment.min(SEGMENT_BYTES_MAX);
        let full = self.rate.window.saturating_add(self.time_of(segment));
        let step = if self.was_silent {
            new.min(STEP_BYTES_MAX)
        } else {
            0
        };
        let is_long = waited >= self.rate.window / LOOKS;
        self.was_silent = new == 0 && (self.was_silent || is_long);
        let left = self.left.saturating_sub(waited);
        let left = left.saturating_add(self.time_of(new));
        self.left = left.min(full.max(self.time_of(step)));
        if self.left.is_zero() {
            return Err(TooSlow);
        }
        Ok(())
    }

    /// When to look at the client again.
    pub(super) fn next_look(&self) -> Duration {
        self.left.min(self.rate.window / LOOKS)
    }

    /// How long these bytes take at the minimum rate.
    fn time_of(&self, bytes: u64) -> Duration {
        let millis = bytes.saturating_mul(1000) / self.rate.bytes.max(1);
        Duration::from_millis(millis)
    }
}

/// What the client of a socket has acknowledged.
#[cfg(target_os = "linux")]
pub(super) fn acknowledged(socket: &TcpStream, _accepted: u64) -> io::Result<Acknowledged> {
    let info = nix::sys::socket::getsockopt(socket, kernel::Info)?;
    Ok(Acknowledged {
        bytes: info.bytes_acked,
        segment: info.snd_mss.into(),
    })
}

/// What the kernel has accepted, where it does not tell what the client has acknowledged.
#[cfg(not(target_os = "linux"))]
pub(super) fn acknowledged(_socket: &TcpStream, accepted: u64) -> io::Result<Acknowledged> {
    Ok(Acknowledged {
        bytes: accepted,
        segment: 0,
    })
}

/// The state of a connection in the kernel.
#[cfg(target_os = "linux")]
mod kernel {
    use nix::libc;
    use nix::sys::socket::sockopt::GetStruct;

    /// The option `TCP_INFO`.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Info;

    /// The start of Linux's `struct tcp_info`, as it is since 4.2. Every value of these bytes is valid.
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub(super) struct TcpInfo {
        _state: [u32; 4],
        pub(super) snd_mss: u32,
        _counts: [u32; 25],
        pub(super) bytes_acked: u64,
    }

    nix::getsockopt_impl!(
        Info,
        libc::IPPROTO_TCP,
        libc::TCP_INFO,
        TcpInfo,
        GetStruct<TcpInfo>
    );
}

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the client reads too slowly, below --min-send-rate")
    }
}

impl std::error::Error for TooSlow {}

impl From<TooSlow> for io::Error {
    fn from(error: TooSlow) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, error)
    }
}

#[cfg(test)]
mod tests;
