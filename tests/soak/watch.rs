//! Ends a run that hangs or gets a signal. The watching thread checks what the others do, and holds
//! their locks only for a moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::Outcome;
use crate::run::Run;

/// A read, a look-up or a listing that takes longer hangs. Daemons are stopped for less than a
/// second at a time.
const READER_LIMIT: Duration = Duration::from_secs(30);
/// A change that takes longer hangs. It waits for readers, mounts and unmounts.
const CHANGE_LIMIT: Duration = Duration::from_secs(90);

/// What a thread is doing, and since when.
#[derive(Debug)]
pub(crate) struct Act {
    limit: Duration,
    doing: Mutex<Option<(Instant, String)>>,
}

impl Act {
    /// The act of a reader.
    pub(crate) fn of_reader() -> Self {
        Self { limit: READER_LIMIT, doing: Mutex::new(None) }
    }

    /// The act of the thread that makes changes.
    pub(crate) fn of_changes() -> Self {
        Self { limit: CHANGE_LIMIT, doing: Mutex::new(None) }
    }

    pub(crate) fn begin(&self, what: impl FnOnce() -> String) {
        self.set(Some((Instant::now(), what())));
    }

    pub(crate) fn end(&self) {
        self.set(None);
    }

    fn set(&self, doing: Option<(Instant, String)>) {
        *self.doing.lock().unwrap_or_else(PoisonError::into_inner) = doing;
    }

    fn hangs(&self) -> Option<String> {
        let doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, what) = doing.as_ref()?;
        (since.elapsed() > self.limit).then(|| what.clone())
    }
}

/// The signals that end the run.
#[derive(Debug)]
pub(crate) struct Signals(Arc<AtomicBool>);

impl Signals {
    pub(crate) fn register() -> Outcome<Self> {
        let received = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, received.clone())?;
        }
        Ok(Self(received))
    }

    pub(crate) fn is_received(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Has [`watch`] return when it is dropped.
pub(crate) struct Done<'a>(pub(crate) &'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Watches until `done`. If an act hangs, `free` must kill the daemons, because otherwise the run
/// could not end either.
pub(crate) fn watch(run: &Run, acts: &[&Act], signals: &Signals, done: &AtomicBool, free: impl Fn()) {
    let mut freed = None;
    while !done.load(Ordering::SeqCst) {
        if signals.is_received() {
            run.end();
        }
        let hanging: Vec<String> = acts.iter().filter_map(|act| act.hangs()).collect();
        if !hanging.is_empty() && freed.is_none() {
            run.fail(format!("HANG: {}", hanging.join("; ")));
            // Killing the daemons frees all threads that wait for them.
            free();
            freed = Some(Instant::now());
        }
        if freed.is_some_and(|at: Instant| at.elapsed() > READER_LIMIT) {
            eprintln!("soak: threads hang though no daemon lives; what is left in the folder stays");
            std::process::exit(1);
        }
        sleep(Duration::from_millis(50));
    }
}
