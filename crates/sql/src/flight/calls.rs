//! The calls of Flight SQL.

use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::metadata::SqlInfoData;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionBeginTransactionRequest, ActionBeginTransactionResult, ActionCancelQueryRequest,
    ActionCancelQueryResult, ActionClosePreparedStatementRequest,
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any, Command,
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetSqlInfo, CommandGetTableTypes,
    CommandGetTables, CommandPreparedStatementQuery, CommandPreparedStatementUpdate,
    CommandStatementIngest, CommandStatementQuery, CommandStatementUpdate,
    DoPutPreparedStatementResult, ProstMessageExt, SqlInfo, TicketStatementQuery,
};
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus,
    FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest, HandshakeResponse, IpcMessage,
    SchemaAsIpc, Ticket,
};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::ipc::writer::IpcWriteOptions;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use prost::Message;
use prost::bytes::Bytes;
use tonic::{Request, Response, Status, Streaming};

use super::access::SqlOperator;
use super::catalog;
use super::handle::StatementHandle;
use super::host::FlightOptions;
use super::running::{Statements, status};
use crate::error::SqlError;

/// The action with which newer clients cancel.
const CANCEL_FLIGHT_INFO: &str = "CancelFlightInfo";

/// What is said to a transaction, an ingestion or another change.
const READS_ONLY: &str = "SQL only reads here: there are no transactions, and nothing is written";

type Calls<T> = Result<Response<T>, Status>;
type RowStream = <FlightCalls as FlightService>::DoGetStream;
type Handshakes = Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>;

/// Answers the calls of clients that have shown the token.
pub(super) struct FlightCalls {
    statements: Statements,
    abilities: SqlInfoData,
}

impl FlightCalls {
    pub(super) fn new(
        statements: Statements,
        options: FlightOptions,
    ) -> Result<FlightCalls, SqlError> {
        Ok(FlightCalls {
            statements,
            abilities: catalog::abilities(options)?,
        })
    }

    /// The columns of a statement, and the ticket that runs it.
    async fn info(
        &self,
        statement: &StatementHandle,
        descriptor: FlightDescriptor,
    ) -> Calls<FlightInfo> {
        let (columns, _) = self.statements.columns(&statement.text).await?;
        let ticket = TicketStatementQuery {
            statement_handle: statement.bytes(),
        };
        let ticket = ticket.as_any().encode_to_vec().into();
        info_of(&plain(&columns), ticket, descriptor)
    }

    async fn run<T>(&self, statement: &[u8], request: &Request<T>) -> Calls<RowStream> {
        let statement = StatementHandle::read(statement).map_err(|error| status(&error))?;
        let (columns, rows) = self.statements.run(statement, operator(request)?).await?;
        Ok(encoded(columns, rows))
    }

    /// Cancels the statement of a ticket, if it is under way.
    fn cancel(&self, info: &FlightInfo) -> Result<CancelStatus, Status> {
        let mut found = false;
        for ticket in info.endpoint.iter().filter_map(|end| end.ticket.as_ref()) {
            let command = Any::decode(&*ticket.ticket).map_err(malformed)?;
            let query = command.unpack::<TicketStatementQuery>();
            if let Some(query) = query.map_err(FlightError::from)? {
                let statement = StatementHandle::read(&query.statement_handle);
                let statement = statement.map_err(|error| status(&error))?;
                found |= self.statements.cancel(&statement.id);
            }
        }
        Ok(if found {
            CancelStatus::Cancelled
        } else {
            CancelStatus::NotCancellable
        })
    }
}

fn operator<T>(request: &Request<T>) -> Result<&SqlOperator, Status> {
    let operator = request.extensions().get::<SqlOperator>();
    operator.ok_or_else(|| Status::internal("the call was not checked"))
}

fn malformed(error: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("the message is malformed: {error}"))
}

fn info_of(columns: &Schema, ticket: Bytes, descriptor: FlightDescriptor) -> Calls<FlightInfo> {
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket));
    let info = FlightInfo::new()
        .try_with_schema(columns)
        .map_err(FlightError::from)?
        .with_endpoint(endpoint)
        .with_descriptor(descriptor);
    Ok(Response::new(info))
}

/// The information of a call whose ticket is its command.
fn info_of_catalog(batch: &RecordBatch, request: Request<FlightDescriptor>) -> Calls<FlightInfo> {
    let descriptor = request.into_inner();
    let ticket = descriptor.cmd.clone();
    info_of(&batch.schema(), ticket, descriptor)
}

/// The columns as they are sent: values instead of dictionaries, which not every client reads.
pub(super) fn plain(columns: &SchemaRef) -> SchemaRef {
    let empty = stream::empty::<Result<RecordBatch, FlightError>>();
    let encoder = FlightDataEncoderBuilder::new().with_schema(Arc::clone(columns));
    let sent = encoder.build(empty).known_schema();
    sent.unwrap_or_else(|| Arc::clone(columns))
}

fn encoded(
    columns: SchemaRef,
    rows: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> Response<RowStream> {
    let rows = FlightDataEncoderBuilder::new()
        .with_schema(columns)
        .build(rows)
        .map_err(Status::from);
    Response::new(Box::pin(rows))
}

fn one(batch: RecordBatch) -> Calls<RowStream> {
    Ok(encoded(batch.schema(), stream::iter([Ok(batch)])))
}

/// A schema as a message of its own.
fn message_of(schema: &Schema) -> Result<Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &options));
    let IpcMessage(bytes) = message.map_err(FlightError::from)?;
    Ok(bytes)
}

#[tonic::async_trait]
impl FlightSqlService for FlightCalls {
    type FlightService = FlightCalls;

    /// The token was checked; it is sent back as the bearer of later calls.
    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Calls<Handshakes> {
        let operator = operator(&request)?;
        let answer = HandshakeResponse {
            protocol_version: 0,
            payload: operator.token.clone().into(),
        };
        let answers: Handshakes = Box::pin(stream::iter([Ok(answer)]));
        let mut response = Response::new(answers);
        operator.bearer(response.metadata_mut());
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        let statement = StatementHandle::new(query.query).map_err(|error| status(&error))?;
        self.info(&statement, request.into_inner()).await
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        let statement = StatementHandle::read(&query.prepared_statement_handle);
        let statement = statement.and_then(|statement| statement.again());
        let statement = statement.map_err(|error| status(&error))?;
        self.info(&statement, request.into_inner()).await
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        info_of_catalog(&catalog::catalogs(query)?, request)
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        info_of_catalog(&catalog::schemas(query)?, request)
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        info_of_catalog(&catalog::tables(query)?, request)
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        info_of_catalog(&catalog::table_types(query)?, request)
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        let infos = self.abilities.record_batch(query.info)?;
        info_of_catalog(&infos, request)
    }

    async fn get_flight_info_fallback(
        &self,
        command: Command,
        _: Request<FlightDescriptor>,
    ) -> Calls<FlightInfo> {
        Err(Status::unimplemented(format!(
            "{} is not offered: there are statements, prepared statements, catalogs, schemas, tables, table types and \
             SQL information",
            command.type_url()
        )))
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        request: Request<Ticket>,
    ) -> Calls<RowStream> {
        self.run(&ticket.statement_handle, &request).await
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Calls<RowStream> {
        self.run(&query.prepared_statement_handle, &request).await
    }

    async fn do_get_catalogs(
        &self,
        query: CommandGetCatalogs,
        _: Request<Ticket>,
    ) -> Calls<RowStream> {
        one(catalog::catalogs(query)?)
    }

    async fn do_get_schemas(
        &self,
        query: CommandGetDbSchemas,
        _: Request<Ticket>,
    ) -> Calls<RowStream> {
        one(catalog::schemas(query)?)
    }

    async fn do_get_tables(&self, query: CommandGetTables, _: Request<Ticket>) -> Calls<RowStream> {
        one(catalog::tables(query)?)
    }

    async fn do_get_table_types(
        &self,
        query: CommandGetTableTypes,
        _: Request<Ticket>,
    ) -> Calls<RowStream> {
        one(catalog::table_types(query)?)
    }

    async fn do_get_sql_info(
        &self,
        query: CommandGetSqlInfo,
        _: Request<Ticket>,
    ) -> Calls<RowStream> {
        one(self.abilities.record_batch(query.info)?)
    }

    async fn do_put_statement_update(
        &self,
        update: CommandStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(self.statements.refuse_change(&update.query).await)
    }

    async fn do_put_prepared_statement_update(
        &self,
        update: CommandPreparedStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let statement = StatementHandle::read(&update.prepared_statement_handle);
        let statement = statement.map_err(|error| status(&error))?;
        Err(self.statements.refuse_change(&statement.text).await)
    }

    async fn do_put_statement_ingest(
        &self,
        _: CommandStatementIngest,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::invalid_argument(READS_ONLY))
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let statement = StatementHandle::read(&query.prepared_statement_handle);
        let statement = statement.map_err(|error| status(&error))?;
        let sent = request.into_inner().into_peekable();
        let mut rows =
            FlightRecordBatchStream::new_from_flight_data(sent.map_err(FlightError::from));
        let mut batches = Vec::new();
        // Two rows are too many already, however many follow.
        while batches.iter().map(RecordBatch::num_rows).sum::<usize>() < 2
            && let Some(batch) = rows.next().await
        {
            batches.push(batch.map_err(malformed)?);
        }
        let bound = statement.bound(&batches).map_err(|error| status(&error))?;
        Ok(DoPutPreparedStatementResult {
            prepared_statement_handle: Some(bound.bytes()),
        })
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let (columns, parameters) = self.statements.columns(&query.query).await?;
        let statement = StatementHandle::new(query.query).map_err(|error| status(&error))?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: statement.bytes(),
            dataset_schema: message_of(&plain(&columns))?,
            parameter_schema: message_of(&parameters)?,
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        _: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        Ok(())
    }

    async fn do_action_begin_transaction(
        &self,
        _: ActionBeginTransactionRequest,
        _: Request<Action>,
    ) -> Result<ActionBeginTransactionResult, Status> {
        Err(Status::unimplemented(READS_ONLY))
    }

    async fn do_action_cancel_query(
        &self,
        query: ActionCancelQueryRequest,
        _: Request<Action>,
    ) -> Result<ActionCancelQueryResult, Status> {
        let info = FlightInfo::decode(query.info).map_err(malformed)?;
        Ok(ActionCancelQueryResult {
            // Both actions number their results alike.
            result: self.cancel(&info)?.into(),
        })
    }

    async fn list_custom_actions(&self) -> Option<Vec<Result<ActionType, Status>>> {
        Some(vec![Ok(ActionType {
            r#type: CANCEL_FLIGHT_INFO.to_owned(),
            description: "Cancels a statement by its information".to_owned(),
        })])
    }

    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Calls<<FlightCalls as FlightService>::DoActionStream> {
        let action = request.into_inner();
        if action.r#type != CANCEL_FLIGHT_INFO {
            let name: String = action.r#type.chars().take(64).collect();
            return Err(Status::unimplemented(format!(
                "the action {name:?} is not offered"
            )));
        }
        let cancelled = CancelFlightInfoRequest::decode(action.body).map_err(malformed)?;
        let info = cancelled.info.unwrap_or_default();
        let result = CancelFlightInfoResult {
            status: self.cancel(&info)?.into(),
        };
        let body = result.encode_to_vec().into();
        let results = stream::iter([Ok(arrow_flight::Result { body })]);
        Ok(Response::new(Box::pin(results)))
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
