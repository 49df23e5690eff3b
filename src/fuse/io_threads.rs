//! Where requests wait for devices: in the workers as long as one of them stays free, else on threads of the device.
//!
//! A device that hangs then takes all workers but one and a few threads of its own. What needs no device is answered, and
//! so is what other devices have.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// What is run once: a request, or an answer.
pub(crate) type Job = Box<dyn FnOnce() + Send>;
/// Work that an answer waits for; notes its progress.
pub(crate) type WorkJob = Box<dyn FnOnce(&Work) + Send>;

/// Threads of one device at most: enough to keep a disk busy.
const THREADS_PER_DEVICE: usize = 4;
/// Threads of all devices at most, where each has at least one.
const THREADS: usize = 32;
/// A thread without work ends after this time.
const IDLE: Duration = Duration::from_secs(10);
/// The longest that an answer waits for work.
const WAIT: Duration = Duration::from_secs(1);

/// Workers that may wait, and the threads of all devices.
#[derive(Debug)]
pub(crate) struct IoThreads {
    /// Workers that may begin to wait now.
    permits: AtomicUsize,
    /// By device number.
    devices: Mutex<HashMap<u64, Arc<Device>>>,
    threads: Arc<AtomicUsize>,
    deadlines: Sender<(Instant, Weak<Work>)>,
}

impl IoThreads {
    /// Starts the thread that keeps deadlines, before the mount; others start when they are needed.
    pub(crate) fn start(workers: usize) -> io::Result<Self> {
        let (deadlines, queue) = channel();
        thread::Builder::new().name("deadlines".into()).spawn(move || keep_deadlines(&queue))?;
        let permits = AtomicUsize::new(workers.saturating_sub(1));
        Ok(Self { permits, devices: Mutex::default(), threads: Arc::default(), deadlines })
    }

    /// Lets a worker wait for a device while it holds this; `None` where no other worker would stay free.
    pub(crate) fn permit(&self) -> Option<Permit<'_>> {
        let taken =
            self.permits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.ok().map(|_| Permit(&self.permits))
    }

    /// Runs a request on a thread of the device that it waits for.
    pub(crate) fn run(&self, device: u64, request: Job) {
        self.device(device).run(request, false);
    }

    /// Runs `work` on threads of its devices, and then `answer`; after a second at the latest, without what is not done by
    /// then, and at once where a device has not been answering for longer.
    pub(crate) fn run_before(&self, work: Vec<(u64, WorkJob)>, answer: impl FnOnce() + Send + 'static) {
        let answer = Arc::new(Answer(Mutex::new(Some(Box::new(answer)))));
        for (device, job) in work {
            let device = self.device(device);
            if device.is_stalled() {
                continue;
            }
            let work = Arc::new(Work::new(device.clone(), answer.clone()));
            // Received for as long as the thread runs, which is until this is dropped.
            let _ = self.deadlines.send((Instant::now() + WAIT, Arc::downgrade(&work)));
            device.run(Box::new(move || job(&work)), true);
        }
    }

    fn device(&self, number: u64) -> Arc<Device> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let threads = || Arc::new(Device::new(self.threads.clone()));
        devices.entry(number).or_insert_with(threads).clone()
    }
}

/// Given back when it is dropped.
pub(crate) struct Permit<'a>(&'a AtomicUsize);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// An answer that is given once: when its deadline comes, or else when all work for it has ended and dropped it.
struct Answer(Mutex<Option<Job>>);

impl Answer {
    fn give(&self) {
        let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(answer) = answer {
            answer();
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.give();
    }
}

/// Work of one device that an answer waits for; dropped when it has ended.
pub(crate) struct Work {
    device: Arc<Device>,
    answer: Arc<Answer>,
}

impl Work {
    fn new(device: Arc<Device>, answer: Arc<Answer>) -> Self {
        if device.work.fetch_add(1, Ordering::Relaxed) == 0 {
            device.note_progress();
        }
        Self { device, answer }
    }

    /// The device has done something: it is slow perhaps, but does not hang.
    pub(crate) fn note_progress(&self) {
        self.device.note_progress();
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.device.work.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Gives the answers whose work does not end in time. All wait equally long, so that deadlines come in order.
fn keep_deadlines(queue: &Receiver<(Instant, Weak<Work>)>) {
    for (deadline, work) in queue {
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        if let Some(work) = work.upgrade() {
            work.answer.give();
        }
    }
}

/// The threads of one device.
#[derive(Debug)]
struct Device {
    queue: Mutex<Queue>,
    /// There is a job, or a thread too many.
    woken: Condvar,
    /// How much work has not ended.
    work: AtomicUsize,
    /// When the device last did something, where there is work.
    progress: Mutex<Instant>,
    /// Of all devices.
    threads: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Queue {
    /// Work that answers wait for: it takes little of a device, and goes first.
    urgent: VecDeque<Job>,
    /// Requests.
    others: VecDeque<Job>,
    threads: usize,
    /// Of the threads, those that wait for a job.
    idle: usize,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} jobs, {} threads, {} idle", self.len(), self.threads, self.idle)
    }
}

impl Queue {
    fn len(&self) -> usize {
        self.urgent.len() + self.others.len()
    }

    fn next(&mut self) -> Option<Job> {
        self.urgent.pop_front().or_else(|| self.others.pop_front())
    }
}

impl Device {
    fn new(threads: Arc<AtomicUsize>) -> Self {
        let (queue, progress) = (Mutex::default(), Mutex::new(Instant::now()));
        Self { queue, woken: Condvar::new(), work: AtomicUsize::new(0), progress, threads }
    }

    /// Whether there is work, and nothing was done for as long as an answer may wait.
    fn is_stalled(&self) -> bool {
        let progress = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        self.work.load(Ordering::Relaxed) > 0 && progress.elapsed() >= WAIT
    }

    fn note_progress(&self) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Runs a job on one of the threads; here where none can be started.
    fn run(self: Arc<Self>, job: Job, is_urgent: bool) {
        let mut queue = self.queue();
        match is_urgent {
            true => queue.urgent.push_back(job),
            false => queue.others.push_back(job),
        }
        if queue.idle >= queue.len() {
            self.woken.notify_one();
            return;
        }
        let is_full = self.threads.load(Ordering::Relaxed) >= THREADS || queue.threads >= THREADS_PER_DEVICE;
        if is_full && queue.threads > 0 {
            return;
        }
        let device = self.clone();
        match thread::Builder::new().name("device".into()).spawn(move || device.serve()) {
            Ok(_) => {
                queue.threads += 1;
                self.threads.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) if queue.threads > 0 => {}
            Err(error) => {
                // Without threads there was nothing else in the queue.
                let job = queue.next();
                drop(queue);
                log::debug!("a thread for reading cannot be started: {error}");
                job.into_iter().for_each(|job| job());
            }
        }
    }

    fn serve(&self) {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.next() {
                drop(queue);
                // Requests report their own panics; the thread serves on.
                let _ = catch_unwind(AssertUnwindSafe(job));
                self.note_progress();
                queue = self.queue();
                continue;
            }
            queue.idle += 1;
            let (woken, timeout) =
                self.woken.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            queue.idle -= 1;
            if timeout.timed_out() && queue.len() == 0 {
                queue.threads -= 1;
                self.threads.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn requests_of_a_device_that_hangs_leave_a_worker_and_the_other_devices_free() {
        let io = IoThreads::start(2).unwrap();
        let (resume, hang) = channel::<()>();
        let hang = Arc::new(Mutex::new(hang));
        let (ended, ends) = channel();
        // One worker hangs, and the other must not.
        let permit = io.permit();
        assert!(permit.is_some() && io.permit().is_none());
        for _ in 0..3 * THREADS_PER_DEVICE {
            let (hang, ended) = (hang.clone(), ended.clone());
            let request = move || {
                let _ = hang.lock().unwrap().recv();
                ended.send(1).unwrap();
            };
            io.run(1, Box::new(request));
        }
        let of_other = ended.clone();
        io.run(2, Box::new(move || of_other.send(2).unwrap()));
        assert_eq!(ends.recv(), Ok(2), "the other device waits");
        assert_eq!(io.device(1).queue().threads, THREADS_PER_DEVICE);
        drop((resume, permit));
        assert_eq!(ends.iter().take(3 * THREADS_PER_DEVICE).sum::<i32>(), 12);
        let permit = io.permit();
        assert!(permit.is_some() && io.permit().is_none(), "a permit was lost, or made");
    }

    #[test]
    fn an_answer_waits_for_its_work_and_no_longer_than_its_deadline() {
        let io = IoThreads::start(2).unwrap();
        let (answer, answers) = sync_channel(4);
        let send = |what: &'static str| {
            let answer = answer.clone();
            move || answer.send(what).unwrap()
        };
        let work = || -> WorkJob {
            let send = send("work");
            Box::new(move |_: &Work| send())
        };
        io.run_before(vec![(1, work())], send("answer"));
        assert_eq!([answers.recv(), answers.recv()], [Ok("work"), Ok("answer")]);

        let (resume, hang) = channel::<()>();
        let hang = move |_: &Work| {
            let _ = hang.recv();
        };
        io.run_before(vec![(1, Box::new(hang))], send("without"));
        assert_eq!(answers.recv(), Ok("without"));
        // The end of the first work may have been noted a moment after the second began.
        while !io.device(1).is_stalled() {
            thread::yield_now();
        }
        io.run_before(vec![(1, Box::new(|_| panic!("work for a device that hangs")))], send("at once"));
        assert_eq!(answers.try_recv(), Ok("at once"));

        drop(resume);
        while io.device(1).is_stalled() {
            thread::yield_now();
        }
        io.run_before(vec![(1, work())], send("answer"));
        assert_eq!([answers.recv(), answers.recv()], [Ok("work"), Ok("answer")]);
    }

    #[test]
    fn a_device_that_is_slow_but_goes_on_does_not_stall() {
        let io = IoThreads::start(2).unwrap();
        let (step, steps) = channel::<()>();
        let (answer, answers) = channel();
        let job = move |work: &Work| steps.iter().for_each(|()| work.note_progress());
        io.run_before(vec![(1, Box::new(job))], move || answer.send(()).unwrap());
        // The answer comes before the work has ended, which takes longer than answers wait.
        answers.recv().unwrap();
        let device = io.device(1);
        assert!(device.is_stalled());
        step.send(()).unwrap();
        while device.is_stalled() {
            thread::yield_now();
        }
        drop(step);
        while device.work.load(Ordering::Relaxed) > 0 {
            thread::yield_now();
        }
    }
}
