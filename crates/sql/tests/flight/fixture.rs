//! A listener over the sample, and clients of it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use arrow_flight::FlightInfo;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use futures_util::TryStreamExt;
use signaldex::{Index, sample};
use signaldex_sql::{FlightHost, FlightOptions, FlightServer, FlightTls, SqlCorpus, SqlError};
use time::Date;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

pub(crate) const TOKEN: &str = "sdxadmin_a-token-of-the-tests";

/// Computes for minutes.
pub(crate) const SLOW: &str =
    "SELECT sum(a.id % 7 + b.id % 5 + c.id % 3) FROM signals a, signals b, signals c";

/// Has more rows than are sent ahead of their reader.
pub(crate) const LONG: &str = "SELECT a.id, b.title FROM signals a, signals b";

pub(crate) type Client = FlightSqlServiceClient<Channel>;

pub(crate) struct Host(pub(crate) Index);

impl FlightHost for Host {
    fn corpus(&self) -> Result<SqlCorpus, SqlError> {
        Ok(vec![self.0.snapshot()].into())
    }

    fn today(&self) -> Date {
        sample::AS_OF
    }

    fn is_admin(&self, secret: &str) -> Result<bool, SqlError> {
        Ok(secret == TOKEN)
    }
}

/// A listener, which ends with this.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) index: Index,
    _server: FlightServer,
}

impl Served {
    pub(crate) fn start(options: FlightOptions) -> Served {
        Served::over(sample::index().expect("the sample"), options, None)
    }

    pub(crate) fn over(index: Index, options: FlightOptions, tls: Option<FlightTls>) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let host = Host(index.clone());
        let server = FlightServer::start(listener, tls, host, options).expect("threads");
        Served {
            address,
            index,
            _server: server,
        }
    }

    /// A client that shows nothing.
    pub(crate) async fn unauthenticated(&self) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address));
        let endpoint = endpoint
            .expect("an address")
            .timeout(Duration::from_secs(120));
        FlightSqlServiceClient::new(endpoint.connect().await.expect("a connection"))
    }

    /// A client that shows the token.
    pub(crate) async fn client(&self) -> Client {
        let mut client = self.unauthenticated().await;
        client.set_token(TOKEN.to_owned());
        client
    }
}

pub(crate) type Rows = Vec<Vec<String>>;

/// The rows of a statement as texts.
pub(crate) async fn ask(client: &mut Client, statement: &str) -> Result<Rows, FlightError> {
    let info = client.execute(statement.to_owned(), None).await?;
    rows_of(client, &info).await
}

pub(crate) async fn rows_of(client: &mut Client, info: &FlightInfo) -> Result<Rows, FlightError> {
    let ticket = info.endpoint[0].ticket.clone().expect("a ticket");
    let batches: Vec<RecordBatch> = client.do_get(ticket).await?.try_collect().await?;
    Ok(batches.iter().flat_map(texts).collect())
}

pub(crate) async fn answer(client: &mut Client, statement: &str) -> Rows {
    let rows = ask(client, statement).await;
    rows.unwrap_or_else(|error| panic!("{statement}: {error}"))
}

pub(crate) async fn refusal(client: &mut Client, statement: &str) -> Status {
    match ask(client, statement).await {
        Ok(_) => panic!("{statement}: it was answered"),
        Err(error) => error.into(),
    }
}

pub(crate) fn texts(batch: &RecordBatch) -> Rows {
    let options = FormatOptions::default().with_null("null");
    let columns = batch.columns().iter();
    let columns: Vec<ArrayFormatter<'_>> = columns
        .map(|column| ArrayFormatter::try_new(column, &options).expect("a type with texts"))
        .collect();
    let text = |row: usize| {
        columns
            .iter()
            .map(move |column| column.value(row).to_string())
    };
    (0..batch.num_rows())
        .map(|row| text(row).collect())
        .collect()
}

/// Asks until the slots of ended statements are free.
pub(crate) async fn answer_soon(client: &mut Client, statement: &str) -> Rows {
    for _ in 0..600 {
        match ask(client, statement).await {
            Ok(rows) => return rows,
            Err(error) => {
                let status = Status::from(error);
                assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
                assert!(status.message().contains("--sql-queries"), "{status}");
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no slot was freed")
}
