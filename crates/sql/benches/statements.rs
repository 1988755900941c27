//! How long statements take over an index, on one thread, without the start of a program.
//!
//! usage: cargo bench --profile measured --package signaldex-sql --bench statements -- DIR DATE RUNS < STATEMENTS
//!
//! Reads a statement a line, runs each RUNS times after one run that is not counted, and prints for each the median in
//! milliseconds and the number of rows. `benches/sql.py` compares them with DuckDB.

use std::error::Error;
use std::io::{self, BufRead};
use std::time::Instant;

use signaldex::Index;
use signaldex_sql::{Database, StatementLimits};
use time::Date;
use time::macros::format_description;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let (Some(directory), Some(date), Some(runs)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: statements DIR DATE RUNS < STATEMENTS");
        return Ok(());
    };
    let as_of = Date::parse(&date, format_description!("[year]-[month]-[day]"))?;
    let runs: usize = runs.parse()?;
    let snapshot = Index::open(directory)?.snapshot();
    let database = Database::new(vec![snapshot], as_of, StatementLimits::default())?;
    let runtime = signaldex_sql::runtime(1)?;
    for statement in io::stdin().lock().lines() {
        let statement = statement?;
        let mut rows = 0;
        let mut milliseconds = Vec::with_capacity(runs);
        // The first run maps pages and numbers labels.
        for _ in 0..=runs {
            rows = 0;
            let started = Instant::now();
            database.run(&runtime, &statement, |batch| {
                rows += batch.num_rows();
                Ok(())
            })?;
            milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
        }
        let mut milliseconds = milliseconds.split_off(1);
        milliseconds.sort_by(f64::total_cmp);
        println!("{} {rows}", milliseconds[milliseconds.len() / 2]);
    }
    Ok(())
}
