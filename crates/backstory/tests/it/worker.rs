//! The worker: unique, started on demand, never waited for, never left behind.

use std::{
    fs,
    io::Read,
    process::{Child, Command},
    sync::{Mutex, mpsc},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    fake_provider::{Answer, Server},
    home::{DEFAULT_OUTPUT, Home, eventually},
    http_client::Served,
    models::{ANSWER, turn, with_model},
};

/// Returns a home in which hooks start the worker, as for users.
fn with_worker() -> Home {
    Home::new().with("BACKSTORY_NO_WORKER", "0")
}

fn worker_pid(home: &Home) -> Option<i64> {
    let facts: Value = serde_json::from_slice(&fs::read(home.path().join("worker.json")).ok()?).ok()?;
    facts["pid"].as_i64()
}

fn is_alive(pid: i64) -> bool {
    // A zombie counts as dead: its parent (this process or init) has not reaped it yet.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Ends the worker by deleting its home.
fn end(home: Home) {
    let pid = worker_pid(&home);
    drop(home);
    if let Some(pid) = pid {
        eventually("the worker of a deleted home exits", || !is_alive(pid));
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_hook_starts_the_worker_which_ingests_the_event() {
    let home = with_worker();
    home.report("user-prompt-submit", &json!({"prompt": "x"}));
    eventually("the event is ingested", || {
        home.path().join("backstory.db").exists() && home.spooled().is_empty()
    });
    home.report("stop", &json!({}));
    eventually("the next one too", || home.spooled().is_empty());
    assert_eq!(home.events(), 2);
    end(home);
}

#[test]
fn a_hook_that_starts_the_worker_closes_its_streams() {
    let home = with_worker();
    let mut child = home.command(&["hook", "stop"]).spawn().unwrap();
    let payload = json!({"session_id": "s1", "cwd": home.project()}).to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    let start = Instant::now();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    // The stream ends when the last process that holds it closes it.
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(
        start.elapsed() < Duration::from_millis(400),
        "{:?}",
        start.elapsed()
    );
    assert_eq!((stdout.as_str(), stderr.as_str()), (DEFAULT_OUTPUT, ""));
    eventually("a worker runs", || worker_pid(&home).is_some_and(is_alive));
    let pid = worker_pid(&home).unwrap();
    let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    assert!(
        environment.contains("HOME=") && !environment.contains("COLUMNS="),
        "{environment}"
    );
    assert_eq!(
        fs::read_link(format!("/proc/{pid}/fd/1")).unwrap().to_str(),
        Some("/dev/null")
    );
    assert_eq!(
        fs::read_link(format!("/proc/{pid}/cwd")).unwrap().to_str(),
        Some("/")
    );
    end(home);
}

#[test]
fn concurrent_starts_yield_one_worker() {
    let home = with_worker();
    let workers: Vec<Child> = (0..8)
        .map(|_| home.command(&["worker", "run"]).spawn().unwrap())
        .collect();
    eventually("a worker runs", || worker_pid(&home).is_some());
    let pid = worker_pid(&home).unwrap();
    let (mut winner, others): (Vec<Child>, Vec<Child>) = workers
        .into_iter()
        .partition(|child| i64::from(child.id()) == pid);
    for other in others {
        let output = other.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "A worker is already running and ingests the events.\n"
        );
    }
    assert!(winner[0].try_wait().unwrap().is_none());
    winner[0].kill().unwrap();
    winner[0].wait().unwrap();
    // The lock was released with its holder: the next worker can start.
    assert!(
        home.ok(&["worker", "run", "--once"])
            .starts_with("Ingested 0 events, distilled 0 events.")
    );
}

#[test]
fn a_hung_worker_delays_no_other_process() {
    let home = with_worker();
    let mut worker = home.command(&["worker", "run"]).spawn().unwrap();
    eventually("the worker runs", || worker_pid(&home).is_some());
    signal(&worker, "-STOP");
    let start = Instant::now();
    for n in 0..200 {
        home.report("post-tool-use", &json!({"tool_name": "Bash", "n": n}));
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(home.spooled().len(), 200);
    assert_eq!(home.json(&["queue", "--json"])["pending"], 200);
    signal(&worker, "-CONT");
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn an_idle_worker_exits_and_leaves_nothing_behind() {
    let home = Home::new();
    home.report("stop", &json!({}));
    home.drain();
    assert!(!home.path().join("worker.json").exists());
    assert_eq!(home.events(), 1);
}

#[test]
fn the_worker_is_started_inspected_and_stopped() {
    let home = with_worker();
    let run = |arguments: &[&str]| {
        let output = home.run(arguments, b"");
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let stopped = "The worker is not running. The next event starts it.\n0 events pending, 0 failed.\n";
    assert_eq!(run(&["worker", "status"]), (Some(1), stopped.to_owned()));
    assert_eq!(
        run(&["worker", "stop"]),
        (Some(0), "The worker is not running.\n".to_owned())
    );
    assert_eq!(
        run(&["worker", "start"]),
        (Some(0), "The worker is running.\n".to_owned())
    );
    assert_eq!(
        run(&["worker", "start"]),
        (Some(0), "The worker is already running.\n".to_owned())
    );
    let first = home.json(&["worker", "status", "--json"]);
    assert_eq!((&first["running"], &first["pending"]), (&json!(true), &json!(0)));
    assert!(is_alive(first["pid"].as_i64().unwrap()));
    assert_eq!(run(&["worker", "restart"]).0, Some(0));
    let second = home.json(&["worker", "status", "--json"]);
    assert_ne!(first["pid"], second["pid"]);
    assert_eq!(
        run(&["worker", "stop"]),
        (Some(0), "The worker was stopped.\n".to_owned())
    );
    assert_eq!(run(&["worker", "status"]).0, Some(1));
    assert!(!home.path().join("worker.json").exists(), "it ended in order");
}

#[test]
fn a_working_worker_has_a_flag_and_logs_its_work() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    // A turn may be asked about again, when the worker meets its end late: all answers come once the sender is dropped.
    let server = Server::start(move |_, _| {
        released.lock().unwrap().recv().ok();
        Answer::anthropic(ANSWER)
    });
    let home = with_model("anthropic", &server);
    home.ok(&["worker", "start"]);
    let flag = home.path().join("activity.flag");
    eventually("no work", || !flag.exists());
    turn(&home, "s1", "ok");
    eventually("the model is asked", || !server.requests().is_empty());
    eventually("the flag", || flag.exists());
    let facts: Value = serde_json::from_slice(&fs::read(&flag).unwrap()).unwrap();
    let worker: Value = serde_json::from_slice(&fs::read(home.path().join("worker.json")).unwrap()).unwrap();
    assert_eq!(facts["pid"], worker["pid"]);
    assert!(facts["since"].as_str().unwrap() >= worker["started_at"].as_str().unwrap());
    drop(release);
    eventually("the work ends", || !flag.exists());
    home.ok(&["worker", "stop"]);
    let log = fs::read_to_string(home.path().join("logs/worker.log")).unwrap();
    let lines: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(_, line)| line)
        .collect();
    let process = format!("process {}, version {}", worker["pid"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        lines.first(),
        Some(&format!("started: {process}").as_str()),
        "{log}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("ingested ") && line.contains(", distilled ")),
        "{log}"
    );
    assert_eq!(
        lines.last(),
        Some(&format!("stopped: {process}").as_str()),
        "{log}"
    );
}

#[test]
fn the_flag_of_a_killed_worker_is_removed_by_the_next() {
    let home = Home::new();
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("activity.flag"), r#"{"pid": 1}"#).unwrap();
    home.drain();
    assert!(!home.path().join("activity.flag").exists());
}

/// A container has process ids of its own, so the worker cannot be signaled from there.
#[test]
fn a_worker_is_stopped_from_another_container() {
    let served = Served::start();
    let ours = served.home.command(&["worker", "stop"]);
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--pid", "--fork"])
        .arg(ours.get_program())
        .args(ours.get_args())
        .env_clear()
        .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    if String::from_utf8_lossy(&output.stderr).contains("unshare") {
        let must_run = std::env::var_os("BACKSTORY_TEST_MUST_RUN").is_some_and(|value| value == "1");
        assert!(!must_run, "no namespaces: {output:?}");
        return;
    }
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "The worker was stopped.\n",
        "{output:?}"
    );
    let status = served.home.run(&["worker", "status"], b"");
    assert_eq!(status.status.code(), Some(1));
    assert!(!served.home.path().join("worker.stop").exists());
}
