//! Books through servers that are killed at random moments, and counts the outcomes.
//!
//! ```text
//! cargo build --release --features rmcp-client-http,redb,redis --examples
//! target/release/examples/exactly_once [--store redis|file] [--bookings N] [--clients N]
//!                                      [--kills N] [--redis-kills N] [--lease SECONDS]
//! ```
//!
//! With `redis`, two servers (the example `booking`) behind a balancer share a Redis. With `file`, one
//! server keeps outcomes in a file. Servers and Redis are killed with SIGKILL and started again. Each
//! booking has its own key. The command prints its figures. It fails with exit code 1 if a key has two
//! effects, if a success does not have exactly the effect with its number, if a booking is lost without
//! being reported as unknown, or if a booking is unknown although its server was not killed.

#[path = "exactly_once/balancer.rs"]
mod balancer;
#[path = "exactly_once/booker.rs"]
mod booker;
#[path = "exactly_once/figures.rs"]
mod figures;
#[path = "exactly_once/servers.rs"]
mod servers;

use balancer::Balancer;
use booker::{Ending, book, connect};
use clap::{Parser, ValueEnum};
use figures::Figures;
use servers::{Booking, Directory, Redis, Servers};
use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Counts the outcomes of bookings whose servers are killed
#[derive(Clone, Copy, Debug, Parser)]
struct Options {
    /// Where the servers keep outcomes
    #[arg(long, value_enum, default_value = "redis")]
    store: StoreKind,
    /// Number of bookings
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    bookings: usize,
    /// Number of concurrent clients
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: usize,
    /// How often a server is killed
    #[arg(long, value_name = "N", default_value_t = 300)]
    kills: usize,
    /// How often Redis is killed
    #[arg(long, value_name = "N", default_value_t = 10)]
    redis_kills: usize,
    /// Lease of a claim, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    lease: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum StoreKind {
    Redis,
    File,
}

fn say(line: &str) {
    // The reader of stdout may have gone away.
    let _ = writeln!(io::stdout().lock(), "{line}");
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("cannot run: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Fallible<bool> {
    let directory = Directory::new()?;
    let mut redis = match options.store {
        StoreKind::Redis => Some(Redis::start(&directory).await?),
        StoreKind::File => None,
    };
    let replicas = if redis.is_some() { 2 } else { 1 };
    let store = match &redis {
        Some(redis) => redis.url(),
        None => directory.file("keys.redb"),
    };
    let mut servers = Servers::default();
    for _ in 0..replicas {
        servers.add(Booking::new(&directory, &store, options.lease)?)?;
    }
    servers.wait().await?;
    let balancer = Balancer::start(servers.addresses()).await?;

    let done = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now();
    let mut booking = JoinSet::new();
    for client in 0..options.clients {
        let (url, done) = (balancer.url(), Arc::clone(&done));
        booking.spawn(async move {
            let client_of_its_own = connect(&url).await?;
            let mut endings = Vec::new();
            for number in (client..options.bookings).step_by(options.clients) {
                let key = format!("booking-{number}");
                let ending = book(&client_of_its_own, &key).await;
                endings.push((key, ending));
                done.fetch_add(1, Relaxed);
            }
            client_of_its_own.close().await;
            Fallible::Ok(endings)
        });
    }
    kill(options, &done, &mut servers, redis.as_mut()).await?;
    let mut endings: Vec<(String, Ending)> = Vec::new();
    while let Some(ended) = booking.join_next().await {
        endings.extend(ended??);
    }
    let took = begun.elapsed();
    let figures = Figures::count(&endings, &directory.read("ledger")?, servers.killed());
    say(&format!(
        "{} bookings of {} clients in {:.1} s; servers killed {}, Redis killed {}",
        endings.len(),
        options.clients,
        took.as_secs_f64(),
        options.kills,
        redis.as_ref().map_or(0, Redis::kills),
    ));
    Ok(figures.report())
}

/// Kills a server, or Redis, when a random number of bookings is done.
async fn kill(
    options: Options,
    done: &AtomicUsize,
    servers: &mut Servers,
    mut redis: Option<&mut Redis>,
) -> Fallible<()> {
    let redis_kills = redis.as_ref().map_or(0, |_| options.redis_kills);
    let mut moments: Vec<(usize, bool)> = Vec::new();
    // No kills in the last tenth, so that calls are running at every kill.
    let last = (options.bookings * 9 / 10).max(1);
    moments.extend((0..options.kills).map(|_| (rand::random_range(0..last), false)));
    moments.extend((0..redis_kills).map(|_| (rand::random_range(0..last), true)));
    moments.sort_unstable();
    for (moment, is_redis) in moments {
        while done.load(Relaxed) < moment {
            sleep(Duration::from_millis(1)).await;
        }
        // Wait a little, since an answer has just come.
        sleep(Duration::from_micros(rand::random_range(0..20_000))).await;
        match &mut redis {
            Some(redis) if is_redis => redis.kill_and_restart().await?,
            _ => servers.kill_and_restart_one().await?,
        }
    }
    Ok(())
}
