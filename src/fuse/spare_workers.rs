//! Workers that are not needed rest.
//!
//! The kernel gives a request to the worker that has slept longest, even if another one is about to ask for a
//! request. So each worker that is awake without being needed costs wake-ups: on two processors, two readers
//! of small files take 1.6 to 1.8 times as long if six workers are awake instead of two
//! (`tests/bench/RESULTS.md`). But if a disk is slow or hangs, its requests occupy workers, and more of them
//! are needed.
//!
//! So after an answer, a worker rests if enough others are awake. While there are requests, a thread checks
//! every 2 ms how long they take. It wakes another worker for each slow one.

use std::cell::OnceCell;
use std::io;
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::system::sync::{Condvar, Mutex};

/// Interval between checks.
const STEP: Duration = Duration::from_millis(2);
/// A request is slow if it was under way at this number of checks.
const SLOW: usize = 2;
/// There is one reader, if any, after this number of checks without overlapping requests: after 16 ms. Two ms
/// are not enough, because the requests of two readers often do not overlap for so long.
const SINGLE: usize = 9;
/// If no request is under way at this number of checks in a row, the thread waits for the next one. On one
/// processor, there is often none at the moment of a check. If the thread then waited at once, each check
/// would take two wake-ups, and reads would take 1 % longer.
const IDLE: usize = 4;

thread_local! {
    /// Set in each worker that has answered a request. Dropped when the worker ends.
    static WORKER: OnceCell<End> = const { OnceCell::new() };
}

/// Decides which workers rest.
#[derive(Clone, Debug)]
pub(crate) struct SpareWorkers(Arc<End>);

#[derive(Debug)]
struct Shared {
    /// Number of workers that stay awake if no request is slow and requests overlap.
    min_awake: usize,
    state: Mutex<Resting>,
    /// Notified when resting workers are needed.
    needed: Condvar,
    /// Notified when there are requests to check again.
    begun: Condvar,
}

#[derive(Debug, Default)]
struct Resting {
    /// Number of workers that have answered a request. Workers end only together, after `is_ending` is set.
    workers: usize,
    /// Number of workers that rest.
    resting: usize,
    /// Number of checks so far.
    checks: usize,
    /// Number of requests under way, by the number of checks since they began. The last element counts the
    /// slow ones.
    requests: [usize; SLOW + 1],
    /// Number of checks since two requests last overlapped, not counting slow ones.
    without_overlap: usize,
    /// Whether the thread checks. Otherwise it waits for a request.
    is_checking: bool,
    /// Whether the workers are ending. No worker rests any more.
    is_ending: bool,
}

impl SpareWorkers {
    /// Starts the thread that checks the requests. Called before the mount.
    pub(crate) fn start(min_awake: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            min_awake,
            state: Default::default(),
            needed: Default::default(),
            begun: Default::default(),
        });
        let checked = shared.clone();
        thread::Builder::new().name("spares".into()).spawn(move || checked.check_requests())?;
        Ok(Self(Arc::new(End(shared))))
    }

    /// Counts a request that a worker begins to answer.
    pub(crate) fn begin(&self) -> Serving<'_> {
        let End(shared) = &*self.0;
        Serving { shared, begin: shared.begin_request() }
    }
}

/// A request that is being answered. When this is dropped, the worker rests as long as enough others are
/// awake.
#[must_use = "dropping it ends the request"]
pub(crate) struct Serving<'s> {
    shared: &'s Arc<Shared>,
    /// Number of checks when the request began.
    begin: usize,
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.shared.end_request(self.begin);
    }
}

impl Shared {
    /// Counts a request. Returns the number of checks so far.
    fn begin_request(&self) -> usize {
        let mut state = self.lock();
        if state.has_recent() {
            state.without_overlap = 0;
        }
        state.requests[0] += 1;
        if !state.is_checking {
            state.is_checking = true;
            self.begun.notify_one();
        }
        state.checks
    }

    /// Ends a request that began after `begin` checks. Returns when this worker is needed for another one, or
    /// when the workers end.
    fn end_request(self: &Arc<Self>, begin: usize) {
        let mut state = self.lock();
        let age = state.checks - begin;
        state.requests[age.min(SLOW)] -= 1;
        WORKER.with(|worker| {
            worker.get_or_init(|| {
                state.workers += 1;
                End(self.clone())
            });
        });
        if state.awake() > self.wanted(&state) {
            state.resting += 1;
            let is_spare = |state: &mut Resting| !state.is_ending && state.awake() >= self.wanted(state);
            state = self.needed.wait_while(state, is_spare);
            state.resting -= 1;
        }
    }

    /// Number of workers that should be awake. One more makes a single reader faster, but several readers
    /// slower (`tests/bench/RESULTS.md`).
    fn wanted(&self, state: &Resting) -> usize {
        self.min_awake + state.requests[SLOW] + usize::from(state.without_overlap >= SINGLE)
    }

    /// Checks requests and wakes workers, until the workers end.
    fn check_requests(&self) {
        let mut state = self.lock();
        // Waits at once, because the first request may come much later.
        let mut checks_without = IDLE - 1;
        while !state.is_ending {
            checks_without = if state.has_recent() { 0 } else { checks_without + 1 };
            if checks_without == IDLE {
                state.is_checking = false;
                // A pause does not show that there is only one reader.
                state.without_overlap = state.without_overlap.saturating_sub(IDLE);
                let is_idle = |state: &mut Resting| !state.is_checking && !state.is_ending;
                state = self.begun.wait_while(state, is_idle);
                checks_without = 0;
            }
            drop(state);
            thread::sleep(STEP);
            state = self.lock();
            state.check();
            let missing = self.wanted(&state).saturating_sub(state.awake());
            (0..missing.min(state.resting)).for_each(|_| self.needed.notify_one());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Resting> {
        self.state.lock()
    }
}

impl Resting {
    /// Number of workers that have answered a request and do not rest.
    fn awake(&self) -> usize {
        self.workers - self.resting
    }

    /// Whether a request is under way that is not slow.
    fn has_recent(&self) -> bool {
        self.requests[..SLOW].iter().any(|requests| *requests > 0)
    }

    /// Counts a check.
    fn check(&mut self) {
        self.checks += 1;
        self.without_overlap += 1;
        for age in (0..SLOW).rev() {
            self.requests[age + 1] += std::mem::take(&mut self.requests[age]);
        }
    }
}

/// Wakes all resting workers when dropped. A worker ends if the mount has ended, and then the others must
/// end, too.
#[derive(Debug)]
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.lock().is_ending = true;
        self.0.needed.notify_all();
        self.0.begun.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::JoinHandle;
    use std::time::Instant;

    use super::*;

    /// Time limit of what must happen soon.
    const LIMIT: Duration = Duration::from_secs(60);

    type Request = Box<dyn FnOnce() + Send>;

    /// Workers that take requests from one queue.
    struct Workers {
        queue: Sender<Request>,
        threads: Vec<JoinHandle<()>>,
    }

    impl Workers {
        /// Starts three workers. Returns when one or two of them rest.
        fn start() -> Self {
            let spares = SpareWorkers::start(1).unwrap();
            let (queue, requests) = channel::<Request>();
            let requests = Arc::new(Mutex::new(requests));
            let threads = (0..3).map(|_| {
                let (spares, requests) = (spares.clone(), requests.clone());
                let next = move || requests.lock().recv();
                thread::spawn(move || {
                    while let Ok(request) = next() {
                        let _serving = spares.begin();
                        request();
                    }
                })
            });
            let workers = Self { queue, threads: threads.collect() };
            // Each of them answers one request.
            let barrier = Arc::new(Barrier::new(3));
            let answers = [(); 3].map(|()| {
                let barrier = barrier.clone();
                workers.send(move || _ = barrier.wait())
            });
            answers.iter().for_each(wait_for);
            wait_until(|| spares.0.0.lock().resting > 0);
            workers
        }

        /// Sends a request. What this returns gets the answer.
        fn send(&self, request: impl FnOnce() + Send + 'static) -> Receiver<()> {
            let (answer, answered) = channel();
            let request = move || {
                request();
                answer.send(()).unwrap();
            };
            self.queue.send(Box::new(request)).unwrap();
            answered
        }
    }

    fn wait_for(answered: &Receiver<()>) {
        answered.recv_timeout(LIMIT).unwrap();
    }

    fn wait_until(is_reached: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_reached() {
            assert!(start.elapsed() < LIMIT);
            thread::yield_now();
        }
    }

    /// Counters without a thread that checks.
    fn counters() -> Arc<Shared> {
        Arc::new(Shared {
            min_awake: 2,
            state: Default::default(),
            needed: Default::default(),
            begun: Default::default(),
        })
    }

    fn check(shared: &Shared) -> usize {
        let mut state = shared.lock();
        state.check();
        shared.wanted(&state)
    }

    #[test]
    fn a_resting_worker_wakes_if_a_disk_occupies_all_others() {
        let workers = Workers::start();
        let hanging = [(); 2].map(|()| {
            let (resume, hang) = channel::<()>();
            (resume, workers.send(move || _ = hang.recv()))
        });
        wait_for(&workers.send(|| ()));
        for (resume, answered) in hanging {
            drop(resume);
            wait_for(&answered);
        }
    }

    #[test]
    fn resting_workers_end_with_the_others() {
        let Workers { queue, threads } = Workers::start();
        drop(queue);
        wait_until(|| threads.iter().all(JoinHandle::is_finished));
    }

    #[test]
    fn each_slow_request_needs_another_worker() {
        let shared = counters();
        let begins = [(); 3].map(|()| shared.begin_request());
        shared.end_request(begins[0]);
        assert_eq!(check(&shared), 2);
        assert_eq!(check(&shared), 4);
        shared.end_request(begins[1]);
        shared.end_request(begins[2]);
        assert_eq!(check(&shared), 2);
    }

    #[test]
    fn a_single_reader_keeps_one_more_worker_awake() {
        let shared = counters();
        for _ in 0..3 {
            let begin = shared.begin_request();
            shared.end_request(begin);
        }
        (1..SINGLE).for_each(|_| assert_eq!(check(&shared), 2));
        assert_eq!(check(&shared), 2 + 1);
        let (first, second) = (shared.begin_request(), shared.begin_request());
        shared.end_request(first);
        shared.end_request(second);
        assert_eq!(check(&shared), 2);
    }
}
