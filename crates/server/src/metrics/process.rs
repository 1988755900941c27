//! What Prometheus expects to know of every process: CPU time, memory, files, threads and its start.
//!
//! Read from `/proc` for each answer; elsewhere than on Linux there are no such metrics.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// Reads the figures of this process for each answer.
#[derive(Debug)]
pub(super) struct Process;

/// The figures at one moment.
struct ProcessFigures {
    cpu_seconds: f64,
    resident_bytes: u64,
    virtual_bytes: u64,
    threads: u64,
    start_seconds: f64,
    open_files: u64,
}

/// Indexes of fields in `/proc/self/stat`, counted from the one after the name of the program.
const UTIME: usize = 11;
const STIME: usize = 12;
const THREADS: usize = 17;
const START: usize = 19;
const VIRTUAL_BYTES: usize = 20;
const RESIDENT_PAGES: usize = 21;

impl ProcessFigures {
    /// `None` where there is no `/proc`.
    fn read() -> Option<ProcessFigures> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name may have spaces and parentheses.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let ticks = clock_ticks_per_second() as f64;
        let system = fs::read_to_string("/proc/stat").ok()?;
        let booted = system.lines().find_map(|line| line.strip_prefix("btime "));
        let booted: f64 = booted?.trim().parse().ok()?;
        // One of them reads the folder.
        let open_files = fs::read_dir("/proc/self/fd")
            .ok()?
            .count()
            .saturating_sub(1);
        Some(ProcessFigures {
            cpu_seconds: (number(UTIME)? + number(STIME)?) as f64 / ticks,
            resident_bytes: number(RESIDENT_PAGES)? * page_size() as u64,
            virtual_bytes: number(VIRTUAL_BYTES)?,
            threads: number(THREADS)?,
            start_seconds: booted + number(START)? as f64 / ticks,
            open_files: open_files as u64,
        })
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(figures) = ProcessFigures::read() else {
            return Ok(());
        };
        let max_files = getrlimit(Resource::Nofile).current;
        let mut add =
            |name: &str, help: &str, metric: &dyn Metric| metric.add(&mut encoder, name, help);
        add(
            "process_cpu_seconds",
            "CPU time of all threads, in user and system mode",
            &ConstCounter::new(figures.cpu_seconds),
        )?;
        add(
            "process_resident_memory_bytes",
            "Memory in use",
            &ConstGauge::new(figures.resident_bytes),
        )?;
        add(
            "process_virtual_memory_bytes",
            "Addresses in use, mapped files included",
            &ConstGauge::new(figures.virtual_bytes),
        )?;
        add(
            "process_open_fds",
            "Open files and connections",
            &ConstGauge::new(figures.open_files),
        )?;
        add(
            "process_max_fds",
            "How many files and connections may be open",
            &ConstGauge::new(max_files.unwrap_or(u64::MAX)),
        )?;
        add(
            "process_threads",
            "Threads",
            &ConstGauge::new(figures.threads),
        )?;
        add(
            "process_start_time_seconds",
            "When the process started, in seconds since 1970",
            &ConstGauge::new(figures.start_seconds),
        )
    }
}

/// A metric of any kind of number.
trait Metric {
    fn add(&self, encoder: &mut DescriptorEncoder, name: &str, help: &str) -> fmt::Result;
}

impl<M: EncodeMetric> Metric for M {
    fn add(&self, encoder: &mut DescriptorEncoder, name: &str, help: &str) -> fmt::Result {
        let help = format!("{help}.");
        self.encode(encoder.encode_descriptor(name, &help, None, self.metric_type())?)
    }
}
