//! A socket that fails when its client reads too slowly, with bounded request targets.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::pace::{ReadingPace, SendRate, acknowledged};
use super::request_target::TargetBound;

/// A socket that fails if the client reads more slowly than the minimum rate while data is waiting to be
/// sent. Without it, clients that stop reading would keep answers in memory for ever.
pub(super) struct PacedStream {
    socket: TcpStream,
    /// `None` if clients may read as slowly as they want.
    pace: Option<ReadingPace>,
    /// When to look at the client again, while a write is pending.
    next_look: Pin<Box<Sleep>>,
    /// When a write began to be pending, or was last looked at.
    waiting_since: Option<Instant>,
    /// Bytes that the kernel has accepted.
    accepted: u64,
    target_bound: TargetBound,
}

impl PacedStream {
    /// Wraps a socket; clients must read at `rate`, if there is one.
    pub(super) fn new(socket: TcpStream, rate: Option<SendRate>) -> PacedStream {
        PacedStream {
            socket,
            pace: rate.map(ReadingPace::new),
            next_look: Box::pin(sleep(rate.map_or(Duration::ZERO, |rate| rate.window))),
            waiting_since: None,
            accepted: 0,
            target_bound: TargetBound::new(),
        }
    }

    /// Returns a finished write; makes a pending one fail when the client is too slow.
    fn watch(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = poll {
            self.accepted += *written.as_ref().unwrap_or(&0) as u64;
            // The client has just made progress, however slow it is.
            let _ = self.look();
            self.waiting_since = None;
            return Poll::Ready(written);
        }
        let Some(pace) = &self.pace else {
            return Poll::Pending;
        };
        if self.waiting_since.is_none() {
            let now = Instant::now();
            self.waiting_since = Some(now);
            self.next_look.as_mut().reset(now + pace.next_look());
        }
        // Each turn sets the timer anew, so the last one leaves it running.
        loop {
            ready!(self.next_look.as_mut().poll(context));
            if let Err(error) = self.look() {
                // Otherwise the kernel would keep megabytes for the client.
                let _ = self.socket.set_zero_linger();
                return Poll::Ready(Err(error));
            }
        }
    }

    /// Looks at what the client has acknowledged while a write was pending.
    fn look(&mut self) -> io::Result<()> {
        let (Some(pace), Some(since)) = (&mut self.pace, self.waiting_since) else {
            return Ok(());
        };
        let now = Instant::now();
        let acknowledged = acknowledged(&self.socket, self.accepted)?;
        pace.note(now - since, acknowledged)
            .map_err(io::Error::from)?;
        self.waiting_since = Some(now);
        self.next_look.as_mut().reset(now + pace.next_look());
        Ok(())
    }
}

impl AsyncRead for PacedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        // A read of zero bytes means the end of the stream, so if all bytes of a read are dropped, read
        // again.
        loop {
            ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
            let is_end = buffer.filled().len() == before;
            let kept = self.target_bound.retain(&mut buffer.filled_mut()[before..]);
            buffer.set_filled(before + kept);
            if is_end || kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for PacedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.watch(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.watch(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
