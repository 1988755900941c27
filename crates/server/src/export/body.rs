//! The body of an export: a stream of parts from the exporting task, with an error if it stops early.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use hyper::body::Frame;
use tokio::sync::{mpsc, oneshot};

/// Parts in the queue; each may have a mebibyte.
const PARTS_WAITING: usize = 1;

/// A message from the exporting task.
pub(crate) enum ExportPart {
    Data(Bytes),
    /// The export is complete. If the task ends without it, the body ends with an error.
    End,
}

pub(crate) struct ExportBody {
    parts: mpsc::Receiver<ExportPart>,
    begin: Option<oneshot::Sender<()>>,
}

/// The task's side of the body.
pub(crate) struct ExportSender {
    /// Ready when the body is first polled: the answer has begun, and has been logged.
    pub(crate) begun: oneshot::Receiver<()>,
    pub(crate) sender: mpsc::Sender<ExportPart>,
}

/// The body is incomplete.
#[derive(Debug)]
pub(crate) struct NotWhole;

impl ExportBody {
    pub(crate) fn new() -> (ExportSender, ExportBody) {
        let (sender, parts) = mpsc::channel(PARTS_WAITING);
        let (begin, begun) = oneshot::channel();
        let begin = Some(begin);
        (ExportSender { begun, sender }, ExportBody { parts, begin })
    }

    /// An empty body of unknown length, for the answer to a HEAD request.
    pub(crate) fn unknown() -> ExportBody {
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
            // If the task has gone, the next receive fails.
            let _ = begin.send(());
        }
        Poll::Ready(match ready!(self.parts.poll_recv(context)) {
            Some(ExportPart::Data(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(ExportPart::End) => None,
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
