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

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, MutexGuard, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::wake::Wake;
use crate::system::sync::Mutex;

/// A function that runs once and does not panic.
type Job = Box<dyn FnOnce() + Send>;

/// Maximum time that an answer waits for sizes.
const WAIT: Duration = Duration::from_secs(1);

/// The queues of all devices.
#[derive(Clone, Debug)]
pub(crate) struct DeviceQueues {
    state: Arc<Mutex<State>>,
    deadlines: Arc<Mutex<Deadlines>>,
    /// Wakes the thread that gives answers at their deadlines.
    wake: Wake,
}

/// Deadlines of answers, in their order: all answers wait equally long.
type Deadlines = VecDeque<(Instant, Weak<TimedAnswer>)>;

#[derive(Debug)]
struct State {
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
        let state = State { free: workers, devices: BTreeMap::new() };
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
            let job = move || job(&|| pending.note_progress());
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

impl State {
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
    state: Arc<Mutex<State>>,
    device: u64,
    _answer: Arc<TimedAnswer>,
}

impl Pending {
    fn new(shared: &Arc<Mutex<State>>, state: &mut State, number: u64, answer: Arc<TimedAnswer>) -> Self {
        let device = state.device(number);
        if device.pending == 0 {
            device.progress = Some(Instant::now());
        }
        device.pending += 1;
        Self { state: shared.clone(), device: number, _answer: answer }
    }

    /// Notes that the device made progress: it may be slow, but it does not hang.
    fn note_progress(&self) {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, sync_channel};

    use super::*;

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
        let job = move |note_progress: &dyn Fn()| steps.iter().for_each(|()| note_progress());
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
}
