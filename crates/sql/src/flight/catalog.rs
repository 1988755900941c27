//! What there is to ask: the catalog, its tables, and what the service can do.

use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables, SqlInfo,
};
use datafusion::arrow::array::RecordBatch;
use tonic::Status;

use super::host::FlightOptions;
use crate::columns::{CATALOG, SCHEMA, companies_schema, signals_schema};
use crate::error::SqlError;

/// The type of both tables.
const TABLE_TYPE: &str = "TABLE";

/// Version of Arrow's format that results have.
const ARROW_VERSION: &str = "1.3";

type CatalogRows = Result<RecordBatch, Status>;

pub(super) fn catalogs(query: CommandGetCatalogs) -> CatalogRows {
    let mut rows = query.into_builder();
    rows.append(CATALOG);
    rows.build().map_err(Status::from)
}

pub(super) fn schemas(query: CommandGetDbSchemas) -> CatalogRows {
    let mut rows = query.into_builder();
    rows.append(CATALOG, SCHEMA);
    rows.build().map_err(Status::from)
}

pub(super) fn tables(query: CommandGetTables) -> CatalogRows {
    let mut rows = query.into_builder();
    for (name, schema) in [
        ("companies", companies_schema()),
        ("signals", signals_schema()),
    ] {
        let schema = super::calls::plain(&schema);
        rows.append(CATALOG, SCHEMA, name, TABLE_TYPE, &schema)?;
    }
    rows.build().map_err(Status::from)
}

pub(super) fn table_types(query: CommandGetTableTypes) -> CatalogRows {
    let mut rows = query.into_builder();
    rows.append(TABLE_TYPE);
    rows.build().map_err(Status::from)
}

/// What the service can do.
pub(super) fn abilities(options: FlightOptions) -> Result<SqlInfoData, SqlError> {
    let mut infos = SqlInfoDataBuilder::new();
    infos.append(SqlInfo::FlightSqlServerName, "signaldex");
    infos.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    infos.append(SqlInfo::FlightSqlServerArrowVersion, ARROW_VERSION);
    infos.append(SqlInfo::FlightSqlServerReadOnly, true);
    infos.append(SqlInfo::FlightSqlServerSql, true);
    infos.append(SqlInfo::FlightSqlServerSubstrait, false);
    infos.append(SqlInfo::FlightSqlServerTransaction, 0_i32);
    infos.append(SqlInfo::FlightSqlServerCancel, true);
    infos.append(SqlInfo::FlightSqlServerBulkIngestion, false);
    let milliseconds = i32::try_from(options.timeout.as_millis()).unwrap_or(i32::MAX);
    infos.append(SqlInfo::FlightSqlServerStatementTimeout, milliseconds);
    infos.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    infos.append(SqlInfo::SqlAllTablesAreSelectable, true);
    infos.build().map_err(SqlError::io)
}
