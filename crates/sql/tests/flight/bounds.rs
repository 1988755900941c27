//! What statements may not do or take: writing, memory, time, more than a few at once.

use std::time::{Duration, Instant};

use arrow_flight::sql::{ActionCancelQueryRequest, ActionCancelQueryResult, Any, ProstMessageExt};
use arrow_flight::{
    Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightInfo,
};
use futures_util::StreamExt;
use prost::Message;
use signaldex_sql::FlightOptions;
use tonic::{Code, Status};

use crate::fixture::{Client, LONG, SLOW, Served, answer, answer_soon, refusal, rows_of};

#[tokio::test]
async fn statements_that_do_more_than_read_are_refused() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    for (statement, word) in [
        ("INSERT INTO signals (id) VALUES (1)", "INSERT"),
        ("DROP TABLE signals", "DROP"),
        ("SET datafusion.execution.batch_size = 1", "SET"),
        ("COPY signals TO '/tmp/x.csv'", "COPY"),
        ("SELECT 1; DELETE FROM signals", ";"),
        ("EXPLAIN ANALYZE DELETE FROM signals", "DELETE"),
    ] {
        let named = format!("{word} is refused");
        let status = refusal(&mut client, statement).await;
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().starts_with(&named),
            "{statement}: {status}"
        );
        let prepared = client.prepare(statement.to_owned(), None).await;
        let error = prepared.map(drop).expect_err("it writes").to_string();
        assert!(error.contains(&named), "{statement}: {error}");
        let updated = client.execute_update(statement.to_owned(), None).await;
        let error = updated.expect_err("it writes").to_string();
        assert!(error.contains(&named), "{statement}: {error}");
    }
    let update = client.execute_update("SELECT 1".to_owned(), None).await;
    let error = update.expect_err("it reads").to_string();
    assert!(error.contains("ask it as a query"), "{error}");
    assert!(client.begin_transaction().await.is_err());
    let file = refusal(&mut client, "SELECT * FROM '/etc/passwd'").await;
    assert!(file.message().contains("/etc/passwd"), "{file}");
}

#[tokio::test]
async fn too_much_memory_names_the_option() {
    let served = Served::start(FlightOptions {
        memory: 1 << 20,
        ..FlightOptions::default()
    });
    let mut client = served.client().await;
    let groups =
        "SELECT a.id, b.id, count(*) FROM signals a CROSS JOIN signals b GROUP BY a.id, b.id";
    let status = refusal(&mut client, groups).await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("--sql-memory"), "{status}");
    assert_eq!(
        answer(&mut client, "SELECT count(*) FROM signals").await,
        [["2000"]]
    );
}

#[tokio::test]
async fn too_much_time_names_the_option() {
    let served = Served::start(FlightOptions {
        timeout: Duration::from_secs(1),
        queries: 1,
        ..FlightOptions::default()
    });
    let mut client = served.client().await;
    let status = refusal(&mut client, SLOW).await;
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(
        status.message(),
        "the statement took longer than 1 seconds; --sql-timeout allows more"
    );
    // It stops computing, too.
    assert_eq!(answer_soon(&mut client, "SELECT 1").await, [["1"]]);
}

/// A client that takes no rows has its statement ended as well.
#[tokio::test]
async fn a_reader_that_waits_frees_its_slot() {
    let served = Served::start(FlightOptions {
        timeout: Duration::from_secs(2),
        queries: 1,
        ..FlightOptions::default()
    });
    let mut client = served.client().await;
    let info = client
        .execute(LONG.to_owned(), None)
        .await
        .expect("columns");
    let ticket = info.endpoint[0].ticket.clone().expect("a ticket");
    let mut waiting = served.client().await;
    let _unread = waiting.do_get(ticket).await.expect("rows");
    let status = refusal(&mut client, "SELECT 1").await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(answer_soon(&mut client, "SELECT 1").await, [["1"]]);
}

#[tokio::test]
async fn the_fifth_statement_is_refused() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let info = client
        .execute(LONG.to_owned(), None)
        .await
        .expect("columns");
    let ticket = info.endpoint[0].ticket.clone().expect("a ticket");
    let mut running = Vec::new();
    for _ in 0..4 {
        let mut client = served.client().await;
        running.push(client.do_get(ticket.clone()).await.expect("rows"));
    }
    let status = refusal(&mut client, "SELECT 1").await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(
        status.message(),
        "4 statements run already: ask again later; --sql-queries allows more"
    );
    let fifth = client
        .do_get(ticket)
        .await
        .map(drop)
        .expect_err("there are four");
    assert_eq!(Status::from(fifth).code(), Code::ResourceExhausted);
    // The catalog is no statement.
    assert!(client.get_table_types().await.is_ok());
    // Readers that leave free their slots.
    running.clear();
    assert_eq!(answer_soon(&mut client, "SELECT 1").await, [["1"]]);
}

/// A slot is free as soon as the reader has the last row.
#[tokio::test]
async fn statements_one_after_the_other_take_one_slot() {
    let served = Served::start(FlightOptions {
        queries: 1,
        ..FlightOptions::default()
    });
    let mut client = served.client().await;
    for _ in 0..50 {
        assert_eq!(
            answer(&mut client, "SELECT count(*) FROM companies")
                .await
                .len(),
            1
        );
        let error = refusal(&mut client, "SELECT nosuch FROM signals").await;
        assert_eq!(error.code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn a_statement_is_cancelled() {
    let served = Served::start(FlightOptions {
        queries: 1,
        ..FlightOptions::default()
    });
    for by_info in [false, true] {
        let mut client = served.client().await;
        let slow = "SELECT a.id FROM signals a, signals b, signals c";
        let info = client
            .execute(slow.to_owned(), None)
            .await
            .expect("columns");
        assert!(
            !cancel(&mut client, &info, by_info).await,
            "nothing is under way"
        );
        let ticket = info.endpoint[0].ticket.clone().expect("a ticket");
        let mut rows = client.do_get(ticket).await.expect("rows");
        assert!(rows.next().await.is_some_and(|batch| batch.is_ok()));
        let mut other = served.client().await;
        let started = Instant::now();
        assert!(cancel(&mut other, &info, by_info).await);
        let failed = loop {
            match rows.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => break Status::from(error),
                None => panic!("the statement has ended by itself"),
            }
        };
        assert_eq!(failed.code(), Code::Cancelled);
        assert!(started.elapsed() < Duration::from_secs(20));
        assert_eq!(answer_soon(&mut client, "SELECT 1").await, [["1"]]);
    }
}

#[tokio::test]
async fn a_statement_without_rows_yet_is_cancelled() {
    let served = Served::start(FlightOptions::default());
    let mut client = served.client().await;
    let info = client
        .execute(SLOW.to_owned(), None)
        .await
        .expect("columns");
    let mut asking = served.client().await;
    let same = info.clone();
    let asked = tokio::spawn(async move { rows_of(&mut asking, &same).await });
    for _ in 0..200 {
        if cancel(&mut client, &info, false).await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let status = Status::from(
        asked
            .await
            .expect("no panic")
            .expect_err("it was cancelled"),
    );
    assert_eq!(status.code(), Code::Cancelled, "{status}");
}

/// Whether a statement was under way and is cancelled, by either action.
async fn cancel(client: &mut Client, info: &FlightInfo, by_info: bool) -> bool {
    let info = info.clone();
    let action = if by_info {
        let request = CancelFlightInfoRequest { info: Some(info) };
        Action::new("CancelFlightInfo", request.encode_to_vec())
    } else {
        let info = info.encode_to_vec().into();
        let request = ActionCancelQueryRequest { info };
        Action::new("CancelQuery", request.as_any().encode_to_vec())
    };
    let mut results = client.do_action(action).await.expect("the action");
    let result = results
        .message()
        .await
        .expect("a result")
        .expect("a result");
    if by_info {
        let result = CancelFlightInfoResult::decode(result.body).expect("a result");
        return result.status == i32::from(CancelStatus::Cancelled);
    }
    let result = Any::decode(result.body).expect("a result");
    let result: ActionCancelQueryResult = result.unpack().expect("a result").expect("a result");
    result.result == i32::from(CancelStatus::Cancelled)
}
