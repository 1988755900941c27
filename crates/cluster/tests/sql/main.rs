//! SQL over nodes of a cluster, by Flight SQL: the rows of one index, or a refusal that names the node.

mod agreement;
mod fixture;
mod late_scans;
mod plans;
mod refusals;

#[path = "../../../cli/src/service/sql_nodes.rs"]
mod sql_nodes;
#[path = "../../../sql/tests/statements/mod.rs"]
mod statements;
