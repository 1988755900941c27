//! The body of an export: parts from the task that finds them, and an error where that stops early.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use hyper::body::Frame;
use tokio::sync::{mpsc, oneshot};

/// Parts that wait to be sent; each may have a mebibyte.
const PARTS_WAITING: usize = 1;

/// What the task sends.
pub(in crate::http) enum Part {
    Data(Bytes),
    /// All was sent. Without it, the body ends with an error, whatever became of the task.
    End,
}

pub(in crate::http) struct ExportBody {
    parts: mpsc::Receiver<Part>,
    begin: Option<oneshot::Sender<()>>,
}

/// What the task has of the body.
pub(in crate::http) struct Parts {
    /// Ready when the body is first asked for a part: the answer has begun, and is in the log.
    pub(in crate::http) begun: oneshot::Receiver<()>,
    pub(in crate::http) sender: mpsc::Sender<Part>,
}

/// The body is not whole.
#[derive(Debug)]
pub(in crate::http) struct NotWhole;

impl ExportBody {
    pub(in crate::http) fn new() -> (Parts, ExportBody) {
        let (sender, parts) = mpsc::channel(PARTS_WAITING);
        let (begin, begun) = oneshot::channel();
        let begin = Some(begin);
        (Parts { begun, sender }, ExportBody { parts, begin })
    }

    /// A body of unknown length that is not sent: that of the answer to a HEAD.
    pub(in crate::http) fn unknown() -> ExportBody {
        ExportBody::new().1
    }
}

impl HttpBody for ExportBody {
    type Data = Bytes;
    type Error = NotWhole;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, NotWhole>>> {
        if let Some(begin) = self.begin.take() {
            // A task that is gone is noticed below.
            let _ = begin.send(());
        }
        Poll::Ready(match ready!(self.parts.poll_recv(context)) {
            Some(Part::Data(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Part::End) => None,
            None => Some(Err(NotWhole)),
        })
    }
}

impl fmt::Display for NotWhole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the export was broken off")
    }
}

impl std::error::Error for NotWhole {}
