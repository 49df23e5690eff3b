//! Decides which requests a worker answers at once, and which wait in the queue of their device.
//!
//! A request that reads a disk occupies its worker for as long as the disk takes. So there are more workers
//! than processors. The requests of one device get at most half of the workers that the other devices leave.
//! Jobs that learn sizes get one extra worker: they read little, and should not wait for large files.
//!
//! A device that hangs keeps these workers and its own queue. Other devices, and requests that read
//! no disk, have the rest. (With 6 workers, two devices may hang at once.) A READ counts as a request that
//! reads its device, even if its bytes are cached. A worker that finishes a request takes the next one from
//! the queue, so that no other thread has to be woken.

use std::cell::OnceCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::notify::Wake;
use crate::system::sync::{Condvar, Mutex};

/// A function that runs once and does not panic.
type Job = Box<dyn FnOnce() + Send>;

/// Maximum time that an answer waits for sizes.
const WAIT: Duration = Duration::from_secs(1);

/// The queues of all devices.
#[derive(Clone, Debug)]
pub(crate) struct DeviceQueues {
    state: Arc<Mutex<QueuesState>>,
    deadlines: Arc<Mutex<Deadlines>>,
    /// Wakes the thread that gives answers at their deadlines.
    wake: Wake,
}

/// Deadlines of answers, in their order: all answers wait equally long.
type Deadlines = VecDeque<(Instant, Weak<TimedAnswer>)>;

#[derive(Debug)]
struct QueuesState {
    /// Number of workers that run no job.
    free: usize,
    /// By device number.
    devices: BTreeMap<u64, Device>,
}

#[derive(Default)]
struct Device {
    requests: VecDeque<Job>,
    /// Jobs that answers with a deadline wait for. They run first.
    urgent: VecDeque<Job>,
    /// Number of workers that run the device's jobs.
    workers: usize,
    /// Number of urgent jobs that have not ended, including those in the queue.
    pending: usize,
    /// When the device last made progress. Set while jobs are pending.
    progress: Option<Instant>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}+{} jobs, {} workers", self.urgent.len(), self.requests.len(), self.workers)
    }
}

impl DeviceQueues {
    /// Starts the thread that gives answers at their deadlines. Called before the mount.
    pub(crate) fn start(workers: usize) -> io::Result<Self> {
        let deadlines = Arc::default();
        let kept = Arc::clone(&deadlines);
        let wake = Wake::start("deadlines", move || keep_deadlines(&kept))?;
        let state = QueuesState { free: workers, devices: BTreeMap::new() };
        Ok(Self { state: Arc::new(Mutex::new(state)), deadlines, wake })
    }

    /// Runs a job that may wait for a device, in this worker's thread, and then other jobs of the queue. If
    /// the device already has all workers that it may have, the job joins the queue.
    pub(crate) fn run(&self, device: u64, job: impl FnOnce() + Send + 'static) {
        let mut state = lock(&self.state);
        if !state.take_worker(device, false) {
            return state.device(device).requests.push_back(Box::new(job));
        }
        drop(state);
        job();
        self.run_queue(device);
    }

    /// Runs urgent jobs of devices, and then `answer`. A job calls the function that it is passed
    /// to note progress. After a second at the latest, `answer` runs even if jobs have not ended. A
    /// device that has made no progress for that long gets no job.
    pub(crate) fn run_before<J>(&self, jobs: Vec<(u64, J)>, answer: impl FnOnce() + Send + 'static)
    where
        J: FnOnce(&dyn Fn()) + Send + 'static,
    {
        let answer = self.answer_later(answer);
        for (device, job) in jobs {
            let mut state = lock(&self.state);
            if state.device(device).is_stalled() {
                continue;
            }
            let is_given = state.take_worker(device, true);
            let pending = Pending::new(&self.state, &mut state, device, answer.clone());
            let job = move || job(&|| pending.record_progress());
            if !is_given {
                state.device(device).urgent.push_back(Box::new(job));
                continue;
            }
            drop(state);
            job();
            self.run_queue(device);
        }
    }

    /// Gives an answer when the returned value is dropped everywhere, or after a second at the latest.
    pub(crate) fn answer_later(&self, answer: impl FnOnce() + Send + 'static) -> Arc<TimedAnswer> {
        let answer = Arc::new(TimedAnswer(Mutex::new(Some(Box::new(answer)))));
        let mut deadlines = lock(&self.deadlines);
        drop_given(&mut deadlines);
        deadlines.push_back((Instant::now() + WAIT, Arc::downgrade(&answer)));
        drop(deadlines);
        self.wake.wake();
        answer
    }

    /// Runs queued jobs, after this worker has run a job of a device.
    fn run_queue(&self, mut device: u64) {
        // The lock is not held while a job runs.
        let mut next = || lock(&self.state).next_job(&mut device);
        while let Some(job) = next() {
            job();
        }
    }
}

impl QueuesState {
    fn device(&mut self, number: u64) -> &mut Device {
        self.devices.entry(number).or_default()
    }

    /// Gives a worker to a device, unless it is the last free one, or the device already has half of the
    /// workers that the others leave. The first urgent job gets an extra worker.
    fn take_worker(&mut self, number: u64, is_urgent: bool) -> bool {
        let free = self.free;
        let device = self.device(number);
        let is_given = free > 1 && (device.workers < free || is_urgent && device.pending == 0);
        if is_given {
            device.workers += 1;
            self.free -= 1;
        }
        is_given
    }

    /// The next job of a worker that has just ended a job of device `number`. The next job may be of another
    /// device. If there is no job, the worker becomes free.
    fn next_job(&mut self, number: &mut u64) -> Option<Job> {
        let free = self.free;
        let device = self.device(*number);
        if device.pending > 0 {
            device.progress = Some(Instant::now());
        }
        // A device's extra worker runs urgent jobs only, so it must not take a request.
        let may_take_request = device.workers <= free + 1;
        let next = device.urgent.pop_front();
        if let Some(job) = next.or_else(|| may_take_request.then(|| device.requests.pop_front()).flatten()) {
            return Some(job);
        }
        device.workers -= 1;
        self.free += 1;
        // A device that found no free worker has jobs in its queue, but no worker to take them.
        let is_left =
            |device: &Device| device.workers == 0 && device.urgent.len() + device.requests.len() > 0;
        *number = self.devices.iter().find(|(_, device)| is_left(device)).map(|(left, _)| *left)?;
        if !self.take_worker(*number, false) {
            return None;
        }
        let device = self.device(*number);
        device.urgent.pop_front().or_else(|| device.requests.pop_front())
    }
}

impl Device {
    /// Whether jobs are pending and the device has made no progress for as long as an answer may wait.
    fn is_stalled(&self) -> bool {
        self.pending > 0 && self.progress.is_some_and(|progress| progress.elapsed() >= WAIT)
    }
}

/// An answer that is given once: at its deadline, or earlier if all its jobs have ended and dropped it.
pub(crate) struct TimedAnswer(Mutex<Option<Job>>);

impl TimedAnswer {
    fn give(&self) {
        let answer = self.0.lock().take();
        if let Some(answer) = answer {
            answer();
        }
    }
}

impl Drop for TimedAnswer {
    fn drop(&mut self) {
        self.give();
    }
}

/// A job that an answer waits for. Dropped when the job has ended.
struct Pending {
    state: Arc<Mutex<QueuesState>>,
    device: u64,
    _answer: Arc<TimedAnswer>,
}

impl Pending {
    fn new(
        queues: &Arc<Mutex<QueuesState>>,
        state: &mut QueuesState,
        number: u64,
        answer: Arc<TimedAnswer>,
    ) -> Self {
        let device = state.device(number);
        if device.pending == 0 {
            device.progress = Some(Instant::now());
        }
        device.pending += 1;
        Self { state: queues.clone(), device: number, _answer: answer }
    }

    /// Notes that the device made progress: it may be slow, but it does not hang.
    fn record_progress(&self) {
        lock(&self.state).device(self.device).progress = Some(Instant::now());
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        lock(&self.state).device(self.device).pending -= 1;
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock()
}

/// Gives each answer whose jobs do not end in time, until no answer waits. Most are given at once. So the
/// thread first waits as long as an answer may wait, and wakes once a second, not for each answer.
fn keep_deadlines(deadlines: &Mutex<Deadlines>) {
    let next = || {
        let mut deadlines = lock(deadlines);
        drop_given(&mut deadlines);
        deadlines.pop_front()
    };
    thread::sleep(WAIT);
    while let Some((deadline, answer)) = next() {
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        if let Some(answer) = answer.upgrade() {
            answer.give();
        }
    }
}

/// Drops the deadlines of answers that were given, up to the first that was not.
fn drop_given(deadlines: &mut Deadlines) {
    while deadlines.front().is_some_and(|(_, answer)| answer.strong_count() == 0) {
        deadlines.pop_front();
    }
}

// Workers that are not needed rest.
//
// The kernel gives a request to the worker that has slept longest, even if another one is about to ask for a
// request. So each worker that is awake without being needed costs wake-ups: on two processors, two readers
// of small files take 1.6 to 1.8 times as long if six workers are awake instead of two
// (`tests/bench/RESULTS.md`). But if a disk is slow or hangs, its requests occupy workers, and more of them
// are needed.
//
// So after an answer, a worker rests if enough others are awake. While there are requests, a thread checks
// every 2 ms how long they take. It wakes another worker for each slow one.

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
struct Spares {
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
        let spares = Arc::new(Spares {
            min_awake,
            state: Default::default(),
            needed: Default::default(),
            begun: Default::default(),
        });
        let checked = spares.clone();
        thread::Builder::new().name("spares".into()).spawn(move || checked.check_requests())?;
        Ok(Self(Arc::new(End(spares))))
    }

    /// Counts a request that a worker begins to answer.
    pub(crate) fn begin(&self) -> Serving<'_> {
        let End(spares) = &*self.0;
        Serving { spares, begin: spares.begin_request() }
    }
}

/// A request that is being answered. When this is dropped, the worker rests as long as enough others are
/// awake.
#[must_use = "dropping it ends the request"]
pub(crate) struct Serving<'s> {
    spares: &'s Arc<Spares>,
    /// Number of checks when the request began.
    begin: usize,
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.spares.end_request(self.begin);
    }
}

impl Spares {
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
struct End(Arc<Spares>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.lock().is_ending = true;
        self.0.needed.notify_all();
        self.0.begun.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
    use std::thread::JoinHandle;
    use std::time::Instant;

    const WORKERS: usize = 8;

    fn is_stalled(queues: &DeviceQueues) -> bool {
        lock(&queues.state).device(1).is_stalled()
    }

    #[test]
    fn hanging_devices_never_occupy_the_last_worker() {
        let queues = Arc::new(DeviceQueues::start(WORKERS).unwrap());
        let (resume, hang) = channel::<()>();
        let hang = Arc::new(Mutex::new(hang));
        let (started, starts) = channel();
        let (ended, ends) = channel();
        let request = |device: u64| {
            let (hang, started, ended) = (hang.clone(), started.clone(), ended.clone());
            move || {
                started.send(device).unwrap();
                let _ = hang.lock().recv();
                ended.send(device).unwrap();
            }
        };
        // `run` returns at once if the job is queued. Every other job occupies a worker.
        let mut workers = Vec::new();
        for (device, most) in [(1, 4), (2, 2), (3, 1)] {
            for nth in 0..3 * WORKERS {
                let (queues, request) = (queues.clone(), request(device));
                if nth < most {
                    workers.push(thread::spawn(move || queues.run(device, request)));
                    assert_eq!(starts.recv(), Ok(device), "job {nth}");
                } else {
                    queues.run(device, request);
                }
            }
            let state = lock(&queues.state);
            assert_eq!((state.devices[&device].workers, state.free > 0), (most, true), "{state:?}");
        }
        assert_eq!(lock(&queues.state).free, 1, "the last worker is not free");
        // No worker may take this job. The first worker that finishes another job takes it.
        queues.run(4, request(4));
        assert!(starts.try_recv().is_err(), "a request occupied the last worker");
        drop(resume);
        for worker in workers {
            worker.join().unwrap();
        }
        drop((started, ended));
        let devices: Vec<u64> = ends.iter().take(9 * WORKERS + 1).collect();
        assert!(devices.len() == 9 * WORKERS + 1 && devices.contains(&4), "a request was lost");
        assert_eq!(lock(&queues.state).free, WORKERS, "the number of free workers changed");
    }

    #[test]
    fn one_of_two_workers_stays_free_of_a_hanging_device() {
        let queues = Arc::new(DeviceQueues::start(2).unwrap());
        let (resume, hang) = channel::<()>();
        let (started, starts) = channel();
        let worker = queues.clone();
        let worker = thread::spawn(move || {
            worker.run(1, move || {
                started.send(()).unwrap();
                let _ = hang.recv();
            });
        });
        starts.recv().unwrap();
        let (answer, answers) = sync_channel(1);
        queues.run(1, || {});
        queues.run(2, move || answer.send(()).unwrap());
        assert!(answers.try_recv().is_err(), "a request ran although the only free worker must stay free");
        drop(resume);
        answers.recv().unwrap();
        worker.join().unwrap();
    }

    #[test]
    fn size_jobs_run_while_requests_occupy_their_share_of_workers() {
        let queues = Arc::new(DeviceQueues::start(WORKERS).unwrap());
        let (resume, hang) = channel::<()>();
        let hang = Arc::new(Mutex::new(hang));
        let (started, starts) = channel();
        let workers: Vec<_> = (0..WORKERS / 2)
            .map(|_| {
                let (queues, hang, started) = (queues.clone(), hang.clone(), started.clone());
                let request = move || {
                    started.send(()).unwrap();
                    let _ = hang.lock().recv();
                };
                let worker = thread::spawn(move || queues.run(1, request));
                starts.recv().unwrap();
                worker
            })
            .collect();
        let (ended, ends) = channel();
        let request = ended.clone();
        queues.run(1, move || request.send("request").unwrap());
        let job = ended.clone();
        queues.run_before(vec![(1, move |_: &dyn Fn()| job.send("job").unwrap())], move || {
            ended.send("answer").unwrap();
        });
        assert_eq!([ends.try_recv(), ends.try_recv()], [Ok("job"), Ok("answer")]);
        assert!(ends.try_recv().is_err(), "a request ran on a worker beyond its half");
        drop(resume);
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!((ends.recv(), lock(&queues.state).free), (Ok("request"), WORKERS));
    }

    #[test]
    fn an_answer_waits_for_its_jobs_until_its_deadline() {
        let queues = Arc::new(DeviceQueues::start(WORKERS).unwrap());
        let (answer, answers) = sync_channel(4);
        let send = |what: &'static str| {
            let answer = answer.clone();
            move || answer.send(what).unwrap()
        };
        let job = || {
            let send = send("job");
            move |_: &dyn Fn()| send()
        };
        queues.run_before(vec![(1, job())], send("answer"));
        assert_eq!([answers.recv(), answers.recv()], [Ok("job"), Ok("answer")]);

        let (resume, hang) = channel::<()>();
        let hang = move |_: &dyn Fn()| {
            let _ = hang.recv();
        };
        let (worker, without) = (queues.clone(), send("without"));
        let worker = thread::spawn(move || worker.run_before(vec![(1, hang)], without));
        assert_eq!(answers.recv(), Ok("without"));
        while !is_stalled(&queues) {
            thread::yield_now();
        }
        let never = |_: &dyn Fn()| panic!("a job was run for a hanging device");
        queues.run_before(vec![(1, never)], send("at once"));
        assert_eq!(answers.try_recv(), Ok("at once"));

        drop(resume);
        worker.join().unwrap();
        assert!(!is_stalled(&queues));
        queues.run_before(vec![(1, job())], send("answer"));
        assert_eq!([answers.recv(), answers.recv()], [Ok("job"), Ok("answer")]);
    }

    #[test]
    fn deadlines_of_answers_that_were_given_take_no_memory() {
        let queues = DeviceQueues::start(WORKERS).unwrap();
        (0..1000).for_each(|_| drop(queues.answer_later(|| {})));
        assert!(lock(&queues.deadlines).len() <= 1);
    }

    #[test]
    fn a_slow_device_that_makes_progress_is_not_stalled() {
        let queues = Arc::new(DeviceQueues::start(WORKERS).unwrap());
        let (step, steps) = channel::<()>();
        let (answer, answers) = channel();
        let job = move |record_progress: &dyn Fn()| steps.iter().for_each(|()| record_progress());
        let worker = queues.clone();
        let worker =
            thread::spawn(move || worker.run_before(vec![(1, job)], move || answer.send(()).unwrap()));
        // The answer comes before the job ends, because the job takes longer than answers wait.
        answers.recv().unwrap();
        while !is_stalled(&queues) {
            thread::yield_now();
        }
        step.send(()).unwrap();
        while is_stalled(&queues) {
            thread::yield_now();
        }
        drop(step);
        worker.join().unwrap();
        assert_eq!(lock(&queues.state).device(1).pending, 0);
    }

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
    fn counters() -> Arc<Spares> {
        Arc::new(Spares {
            min_awake: 2,
            state: Default::default(),
            needed: Default::default(),
            begun: Default::default(),
        })
    }

    fn check(spares: &Spares) -> usize {
        let mut state = spares.lock();
        state.check();
        spares.wanted(&state)
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
        let spares = counters();
        let begins = [(); 3].map(|()| spares.begin_request());
        spares.end_request(begins[0]);
        assert_eq!(check(&spares), 2);
        assert_eq!(check(&spares), 4);
        spares.end_request(begins[1]);
        spares.end_request(begins[2]);
        assert_eq!(check(&spares), 2);
    }

    #[test]
    fn a_single_reader_keeps_one_more_worker_awake() {
        let spares = counters();
        for _ in 0..3 {
            let begin = spares.begin_request();
            spares.end_request(begin);
        }
        (1..SINGLE).for_each(|_| assert_eq!(check(&spares), 2));
        assert_eq!(check(&spares), 2 + 1);
        let (first, second) = (spares.begin_request(), spares.begin_request());
        spares.end_request(first);
        spares.end_request(second);
        assert_eq!(check(&spares), 2);
    }
}
