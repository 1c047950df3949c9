use super::Fallible;
use std::{
    collections::HashSet,
    env, fs, io,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{self, Child, Command, Stdio},
    time::Duration,
};
use tokio::{net::TcpStream, time::sleep};

/// A temporary directory, removed when it is dropped.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("exactly-once-{}", process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.0.join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that is killed when this is dropped.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> io::Result<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        quiet.stderr(Stdio::null()).spawn().map(Self)
    }

    fn kill(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// Waits until a server listens at the address.
async fn listening(address: SocketAddr) -> Fallible<()> {
    for _ in 0..3000 {
        if TcpStream::connect(address).await.is_ok() {
            return Ok(());
        }
        sleep(Duration::from_millis(10)).await;
    }
    Err(format!("nobody listens on {address}").into())
}

/// How a server is started.
pub(crate) struct Booking {
    program: PathBuf,
    address: SocketAddr,
    arguments: Vec<String>,
}

impl Booking {
    pub(crate) fn new(directory: &Directory, store: &str, lease: f64) -> Fallible<Self> {
        let address = free_address()?;
        let arguments = [
            ("--http", address.to_string()),
            ("--store", store.to_owned()),
            ("--ledger", directory.file("ledger")),
            ("--attempt-timeout", lease.to_string()),
        ];
        Ok(Self {
            program: env::current_exe()?.with_file_name("booking"),
            address,
            arguments: arguments
                .into_iter()
                .flat_map(|(name, value)| [name.to_owned(), value])
                .collect(),
        })
    }

    fn start(&self) -> io::Result<Process> {
        Process::start(Command::new(&self.program).args(&self.arguments))
    }
}

/// The replicas.
#[derive(Default)]
pub(crate) struct Servers {
    running: Vec<(Booking, Process)>,
    killed: HashSet<u32>,
}

impl Servers {
    pub(crate) fn add(&mut self, booking: Booking) -> io::Result<()> {
        let process = booking.start()?;
        self.running.push((booking, process));
        Ok(())
    }

    pub(crate) async fn wait(&self) -> Fallible<()> {
        for (booking, _) in &self.running {
            listening(booking.address).await?;
        }
        Ok(())
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let running = self.running.iter();
        running.map(|(booking, _)| booking.address).collect()
    }

    /// The ids of the processes that were killed.
    pub(crate) fn killed(&self) -> &HashSet<u32> {
        &self.killed
    }

    /// The next kill may come while this one starts.
    pub(crate) async fn kill_and_restart_one(&mut self) -> Fallible<()> {
        let chosen = rand::random_range(0..self.running.len());
        let (booking, process) = &mut self.running[chosen];
        self.killed.insert(process.0.id());
        process.kill();
        *process = booking.start()?;
        // A server with a store of its own has no replica.
        if self.running.len() == 1 {
            self.wait().await?;
        }
        Ok(())
    }
}

/// A Redis server that writes everything to disk.
pub(crate) struct Redis {
    address: SocketAddr,
    directory: String,
    process: Process,
    kills: usize,
}

impl Redis {
    pub(crate) async fn start(directory: &Directory) -> Fallible<Self> {
        let address = free_address()?;
        let directory = directory.file("");
        let redis = Self {
            process: spawn(address, &directory)
                .map_err(|error| format!("redis-server cannot be started: {error}"))?,
            address,
            directory,
            kills: 0,
        };
        listening(address).await?;
        Ok(redis)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    pub(crate) fn kills(&self) -> usize {
        self.kills
    }

    pub(crate) async fn kill_and_restart(&mut self) -> Fallible<()> {
        self.kills += 1;
        self.process.kill();
        self.process = spawn(self.address, &self.directory)?;
        listening(self.address).await
    }
}

fn spawn(address: SocketAddr, directory: &str) -> io::Result<Process> {
    let mut command = Command::new("redis-server");
    command
        .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
        .args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ])
        .args(["--dir", directory]);
    Process::start(&mut command)
}
