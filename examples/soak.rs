//! Calls a server that is killed at random moments, and counts what became of the calls.
//!
//! ```text
//! cargo build --release --features rmcp-client-http --examples
//! target/release/examples/soak [--http] [--calls N] [--callers N] [--kills N]
//! ```
//!
//! The server is the example `hostile`, with its ledger of what really ran. Every call has a key of its
//! own; half of them go to a tool that must not run twice. Fails with exit code 1 where a call was
//! lost or never ended, something ran twice that must not, or processes, file descriptors or memory
//! are left behind. It prints its figures; processes and memory are read from `/proc`, on Linux alone.

use clap::Parser;
use mcp_resilience::{
    Failure, ResilienceLayer,
    backoff::Backoff,
    call_log::{CallLogLayer, Record, Sink},
    reconnect::ReconnectLayer,
    rmcp::client::{ChildProcess, Client, Http},
};
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

/// Calls a server that is killed at random moments.
#[derive(Clone, Copy, Parser)]
struct Options {
    /// How many calls are made in all.
    #[arg(long, default_value = "10000")]
    calls: usize,
    /// How many callers make them at the same time.
    #[arg(long, default_value = "8")]
    callers: usize,
    /// How often the server is killed.
    #[arg(long, default_value = "300")]
    kills: usize,
    /// Over HTTP instead of stdio.
    #[arg(long)]
    http: bool,
}

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    match soak(Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("cannot soak: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn soak(options: Options) -> Fallible<bool> {
    let ledger = Ledger::new()?;
    let server = options.http.then(|| Server::start(&ledger)).transpose()?;
    let log = Arc::new(Log::default());
    let client = connect(&ledger, server.as_ref(), &log).await?;
    let kept = server.map(|server| tokio::spawn(server.keep()));

    let done = Arc::new(AtomicUsize::new(0));
    let killing = tokio::spawn(kill(options, ledger.clone(), Arc::clone(&done)));
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..options.callers {
        let (client, done) = (client.clone(), Arc::clone(&done));
        let calls = (caller..options.calls).step_by(options.callers);
        callers.spawn(async move {
            let mut answers = Vec::new();
            for n in calls {
                answers.push(call(&client, n).await);
                done.fetch_add(1, Relaxed);
            }
            answers
        });
    }
    let mut middle = None;
    while done.load(Relaxed) < options.calls {
        if middle.is_none() && done.load(Relaxed) > options.calls / 5 {
            middle = Some(Usage::now());
        }
        sleep(Duration::from_millis(20)).await;
    }
    let end = Usage::now();
    let answers: Vec<_> = callers.join_all().await.into_iter().flatten().collect();
    let lasted = begun.elapsed();
    let kills = killing.await??;
    let generation = client.handle().generation();
    client.close().await;
    if let Some(kept) = kept {
        kept.abort();
        let _ = kept.await;
    }
    let figures = Figures {
        options,
        answers,
        lasted,
        kills,
        generation,
        lines: log.0.load(Relaxed),
        ran: ledger.ran()?,
        middle: middle.unwrap_or_default(),
        end,
        left: Usage::now(),
    };
    if std::env::var_os("KEEP").is_none() { ledger.remove()?; } else { say(&format!("{}", ledger.path.display())); }
    Ok(figures.report())
}

async fn connect(
    ledger: &Ledger,
    server: Option<&Server>,
    log: &Arc<Log>,
) -> Result<Client, Failure> {
    let resilience = ResilienceLayer::builder()
        .attempt_timeout(Duration::from_secs(10))
        .log(CallLogLayer::new(Arc::clone(log)))
        .build()
        .map_err(Failure::crash)?;
    // A server that dies this often is dialled again soon.
    let backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(200));
    let reconnect = ReconnectLayer::builder(()).backoff(backoff.map_err(Failure::crash)?);
    let reconnect = reconnect.build().map_err(Failure::crash)?;
    if let Some(server) = server {
        let builder = Client::builder(Http::new(&*server.url));
        return builder
            .resilience(resilience)
            .reconnect(reconnect)
            .connect()
            .await;
    }
    let child = ChildProcess::new(program())
        .arg("--ledger")
        .arg(&*ledger.path);
    let builder = Client::builder(child.args(["--life", "3600"]));
    builder
        .resilience(resilience)
        .reconnect(reconnect)
        .connect()
        .await
}

/// What became of one call.
struct Answer {
    key: String,
    must_not_run_twice: bool,
    took: Duration,
    /// A good answer; or what the failure was.
    outcome: Result<(), String>,
}

async fn call(client: &Client, n: usize) -> Answer {
    let must_not_run_twice = n.is_multiple_of(2);
    let tool = if must_not_run_twice { "book" } else { "look" };
    let key = n.to_string();
    // Some take their time, so that the server dies while they run.
    let late = json!({"kind": "late", "seconds": f64::from(rand::random::<u8>()) / 50_000.0});
    let arguments = json!({"key": key, "fault": late, "times": 1000});
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let begun = Instant::now();
    let call = CallToolRequestParams::new(tool).with_arguments(arguments);
    let outcome = match client.call_tool(call).await {
        Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
            let code = result
                .structured_content
                .as_ref()
                .map(|failure| &failure["code"]);
            Err(code.unwrap_or(&Value::Null).to_string())
        }
        Ok(_) => Ok(()),
        Err(failure) => Err(failure.to_string()),
    };
    Answer {
        key,
        must_not_run_twice,
        took: begun.elapsed(),
        outcome,
    }
}

/// Kills the server every so many calls, at a random moment.
async fn kill(options: Options, ledger: Ledger, done: Arc<AtomicUsize>) -> Fallible<usize> {
    let mut starts = Starts::of(&ledger)?;
    let mut last = None;
    for kill in 1..=options.kills {
        let due = kill * options.calls / (options.kills + 1);
        while done.load(Relaxed) < due {
            sleep(Duration::from_micros(200)).await;
        }
        sleep(Duration::from_micros(u64::from(rand::random::<u16>()) / 20)).await;
        // Not the one that is dead already.
        let id = loop {
            let id = starts.last()?;
            if id.is_some() && id != last {
                break id;
            }
            sleep(Duration::from_millis(1)).await;
        };
        last.clone_from(&id);
        let id = id.unwrap_or_default();
        Command::new("kill")
            .args(["-9", &id])
            .stderr(Stdio::null())
            .status()?;
    }
    Ok(options.kills)
}

/// The server over HTTP, started again whenever it ends.
struct Server {
    url: String,
    address: String,
    ledger: Ledger,
    process: Child,
}

impl Server {
    fn start(ledger: &Ledger) -> Fallible<Self> {
        let mut process = Self::spawn(ledger, "127.0.0.1:0", Stdio::piped())?;
        let stderr = process.stderr.take().ok_or("no stderr")?;
        let mut url = String::new();
        io::BufReader::new(stderr).read_line(&mut url)?;
        let url = url.trim_end().to_owned();
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        Ok(Self {
            address: address.to_owned(),
            url,
            ledger: ledger.clone(),
            process,
        })
    }

    fn spawn(ledger: &Ledger, address: &str, stderr: Stdio) -> io::Result<Child> {
        Command::new(program())
            .arg("--ledger")
            .arg(&*ledger.path)
            .args(["--life", "3600", "--http", address])
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
    }

    async fn keep(mut self) -> io::Result<()> {
        loop {
            if self.process.try_wait()?.is_some() {
                self.process = Self::spawn(&self.ledger, &self.address, Stdio::null())?;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The example `hostile`, built beside this one.
fn program() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    own.with_file_name(format!("hostile{}", env::consts::EXE_SUFFIX))
}

/// Counts the lines of the log.
#[derive(Default)]
struct Log(AtomicU64);

impl Sink for Log {
    fn write(&self, _: &Record<'_>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// What the server did, over all its starts.
#[derive(Clone)]
struct Ledger {
    path: Arc<Path>,
}

impl Ledger {
    fn new() -> io::Result<Self> {
        let name = format!("soak-{}.jsonl", std::process::id());
        let path: Arc<Path> = env::temp_dir().join(name).into();
        fs::write(&path, "")?;
        Ok(Self { path })
    }

    /// How often each key ran.
    fn ran(&self) -> Fallible<HashMap<String, usize>> {
        let mut ran = HashMap::new();
        for line in fs::read_to_string(&self.path)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            if let ("executed", Some(key)) =
                (line["event"].as_str().unwrap_or(""), line["key"].as_str())
            {
                *ran.entry(key.to_owned()).or_default() += 1;
            }
        }
        Ok(ran)
    }

    fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The starts of the server, as the ledger grows.
struct Starts {
    lines: Mutex<io::BufReader<fs::File>>,
    last: Option<String>,
}

impl Starts {
    fn of(ledger: &Ledger) -> io::Result<Self> {
        let file = fs::File::open(&ledger.path)?;
        Ok(Self {
            lines: Mutex::new(io::BufReader::new(file)),
            last: None,
        })
    }

    /// The process id of the last one.
    fn last(&mut self) -> Fallible<Option<String>> {
        let lines = self.lines.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut line = String::new();
        loop {
            line.clear();
            let length = lines.read_line(&mut line)?;
            if length == 0 {
                return Ok(self.last.clone());
            }
            if !line.ends_with('\n') {
                // Not whole yet.
                lines.seek_relative(-i64::try_from(length)?)?;
                return Ok(self.last.clone());
            }
            let event: Value = serde_json::from_str(&line)?;
            if event["event"] == "started" {
                self.last = Some(event["pid"].to_string());
            }
        }
    }
}

/// What this process holds.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    memory_kib: u64,
    files: usize,
    children: usize,
    zombies: usize,
}

impl Usage {
    fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let own = std::process::id().to_string();
        let children: Vec<String> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
            .filter_map(|stat| {
                // After the name, which may hold anything: the state, and the parent.
                let mut fields = stat.rsplit_once(") ")?.1.split(' ');
                let state = fields.next()?.to_owned();
                (fields.next()? == own).then_some(state)
            })
            .collect();
        Self {
            memory_kib: memory.unwrap_or(0),
            files,
            zombies: children.iter().filter(|state| *state == "Z").count(),
            children: children.len(),
        }
    }
}

struct Figures {
    options: Options,
    answers: Vec<Answer>,
    lasted: Duration,
    kills: usize,
    generation: u64,
    lines: u64,
    ran: HashMap<String, usize>,
    middle: Usage,
    end: Usage,
    left: Usage,
}

impl Figures {
    /// Prints them, and says whether all is well.
    fn report(self) -> bool {
        let good = self
            .answers
            .iter()
            .filter(|answer| answer.outcome.is_ok())
            .count();
        let mut failed = BTreeMap::<_, usize>::new();
        for answer in &self.answers {
            if let Err(code) = &answer.outcome {
                *failed.entry(code.as_str()).or_default() += 1;
            }
        }
        let mut times: Vec<_> = self.answers.iter().map(|answer| answer.took).collect();
        times.sort_unstable();
        let longest = times.last().copied().unwrap_or_default();
        let ran = |answer: &Answer| self.ran.get(&answer.key).copied().unwrap_or(0);
        let is_once = |answer: &&Answer| answer.must_not_run_twice;
        let double = self
            .answers
            .iter()
            .filter(is_once)
            .filter(|a| ran(a) > 1)
            .count();
        let missing = self
            .answers
            .iter()
            .filter(|a| a.outcome.is_ok() && ran(a) == 0)
            .count();
        let grown = self.end.memory_kib.saturating_sub(self.middle.memory_kib);

        say(&format!(
            "wire                     {}",
            if self.options.http { "http" } else { "stdio" }
        ));
        say(&format!(
            "calls                    {} by {} callers",
            self.answers.len(),
            self.options.callers
        ));
        say(&format!("lasted                   {:.1?}", self.lasted));
        say(&format!("kills                    {}", self.kills));
        say(&format!("connections              {}", self.generation));
        say(&format!("good answers             {good}"));
        say(&format!("flagged                  {failed:?}"));
        say(&format!("log lines                {}", self.lines));
        say(&format!("longest call             {longest:.1?}"));
        say(&format!(
            "median call              {:.1?}",
            times.get(times.len() / 2).copied().unwrap_or_default()
        ));
        say(&format!("ran twice, must not      {double}"));
        say(&format!("good, but never ran      {missing}"));
        say(&format!(
            "memory                   {} KiB after a fifth, {} KiB at the end",
            self.middle.memory_kib, self.end.memory_kib
        ));
        say(&format!(
            "file descriptors         {} after a fifth, {} at the end, {} when closed",
            self.middle.files, self.end.files, self.left.files
        ));
        say(&format!(
            "children, zombies        {}, {} when closed",
            self.left.children, self.left.zombies
        ));

        for answer in self.answers.iter().filter(|a| a.took > Duration::from_secs(5)) {
            say(&format!("slow: {} took {:?} {:?} ran {}", answer.key, answer.took, answer.outcome, ran(answer)));
        }
        let checks = [
            (
                "every call was answered",
                self.answers.len() == self.options.calls,
            ),
            (
                "every call left one line",
                usize::try_from(self.lines) == Ok(self.options.calls),
            ),
            ("no call was stuck", longest < Duration::from_secs(56)),
            ("nothing ran twice that must not", double == 0),
            ("no good answer without a run", missing == 0),
            ("no process is left", self.left.children == 0),
            (
                "file descriptors are flat",
                self.end.files <= self.middle.files + 16,
            ),
            ("memory is flat", grown < 8 * 1024),
        ];
        for (check, holds) in checks {
            say(&format!(
                "{}  {check}",
                if holds { "ok    " } else { "FAILED" }
            ));
        }
        checks.iter().all(|(_, holds)| *holds)
    }
}

fn say(text: &str) {
    // Whoever reads may have read enough.
    let _ = writeln!(io::stdout(), "{text}");
}
