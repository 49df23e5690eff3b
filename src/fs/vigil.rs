//! The vigil: while a program asks one short question after another, a worker that has answered stays awake for the
//! next, and the others keep out of its way.
//!
//! To wake a thread that sleeps on another processor takes 10 to 120 us, more than most answers do, and a program that
//! opens one small file after another waits for it twice with each request: until a worker is awake, and until it is
//! awake itself. The first of the two is spared here. It costs the processor about what falling asleep and being woken
//! cost where the next request comes within some 50 us, and more where it comes later: hence [`AWAKE`] and [`Pace`].
//!
//! Whoever sleeps in the kernel's queue is woken by the next request, though the one that is awake takes it. So the
//! others are let have one more request each, and rest here after it for as long as requests are answered.
//!
//! fuser reads requests by itself, and sleeps there. What is done here is done between an answer and the next read, and
//! is of no consequence but for time: whenever it ends, the worker reads on as ever.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a worker stays awake for a request. A program that was woken on another processor has mostly asked within
/// 40 us; to wait longer than this takes longer than to be woken.
const AWAKE: Duration = Duration::from_micros(100);
/// How long the others rest before they look whether requests are still being answered. A request waits for up to two
/// of these where the worker that is awake was given a long one.
const REST: Duration = Duration::from_millis(1);

/// What the workers of one mount know of each other.
#[derive(Debug)]
pub(super) struct Vigil {
    /// Where requests come from.
    device: OwnedFd,
    workers: usize,
    pace: Mutex<Pace>,
    /// Whether somebody is awake.
    is_kept: AtomicBool,
    answers: AtomicU64,
    /// Workers that answer.
    busy: AtomicUsize,
    /// Workers that rest.
    resting: AtomicUsize,
    bed: Mutex<()>,
    call: Condvar,
}

/// How staying awake ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// With a request that was there at once. Where an answer takes its time to wake the program, it may be the
    /// program's next; where several are there at once one after the other, several programs ask.
    AskedAtOnce,
    /// With the next request.
    Asked,
    /// Without one.
    Unasked,
}

impl Vigil {
    /// Of so many workers, who read requests from a device.
    pub(super) fn new(device: OwnedFd, workers: usize) -> Self {
        Self {
            device,
            workers,
            pace: Mutex::default(),
            is_kept: AtomicBool::new(false),
            answers: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            resting: AtomicUsize::new(0),
            bed: Mutex::default(),
            call: Condvar::new(),
        }
    }

    /// Has a worker answer a request.
    pub(super) fn answer(&self, handler: impl FnOnce()) {
        self.busy.fetch_add(1, Ordering::Relaxed);
        handler();
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// For a worker that has answered a request which it read at `asked`: returns when it should read the next one.
    /// If it is to stay awake, and nobody waits for it, it does something useful first.
    pub(super) fn keep(&self, asked: Instant, meanwhile: impl FnOnce()) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        if !self.pace().answered(asked, Instant::now()) {
            return;
        }
        if self.is_kept.swap(true, Ordering::Relaxed) {
            return self.rest();
        }
        let ended = match self.is_asked() {
            true => Ended::AskedAtOnce,
            false => {
                meanwhile();
                self.stay_awake(AWAKE)
            }
        };
        self.is_kept.store(false, Ordering::Relaxed);
        if self.pace().ended(ended) {
            self.call.notify_one();
        }
    }

    /// Until a request is there that nobody else will take. Others take one each at most: where more come, those who
    /// took them do not rest, and it would go on for as long as many programs ask.
    fn stay_awake(&self, most: Duration) -> Ended {
        let mut is_asked = false;
        let mut left_to_others = self.workers.saturating_sub(1);
        let mut since = Instant::now();
        while since.elapsed() < most {
            let was_asked = is_asked;
            is_asked = self.is_asked();
            let others = self.resting.load(Ordering::Relaxed) + self.busy.load(Ordering::Relaxed);
            if is_asked && (others + 1 >= self.workers || left_to_others == 0) {
                return Ended::Asked;
            }
            if was_asked && !is_asked {
                // Another has it, and rests when it has answered.
                since = Instant::now();
                left_to_others = left_to_others.saturating_sub(1);
            }
        }
        // Those who sleep take long to wake up, or are kept from it.
        if is_asked { Ended::Asked } else { Ended::Unasked }
    }

    /// For as long as others answer requests and nobody calls.
    fn rest(&self) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.resting.fetch_add(1, Ordering::Relaxed);
        loop {
            let before = self.answers.load(Ordering::Relaxed);
            let (again, slept) = self.call.wait_timeout(bed, REST).unwrap_or_else(PoisonError::into_inner);
            bed = again;
            if !slept.timed_out() || self.answers.load(Ordering::Relaxed) == before {
                break;
            }
        }
        self.resting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether a request is there; or the end of the mount, which is for fuser to find.
    fn is_asked(&self) -> bool {
        let mut device = [PollFd::new(&self.device, PollFlags::IN)];
        poll(&mut device, Some(&Timespec::default())) != Ok(0)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is worth staying awake, by what the last requests were like.
#[derive(Debug, Default)]
struct Pace {
    /// When the last answer was given.
    answered: Option<Instant>,
    /// What speaks for it.
    credit: i32,
    /// How often in a row nobody asked.
    unasked: u32,
    /// How often in a row a request was there at once.
    at_once: u32,
}

/// An answer that takes no longer is short. Of a longer one (a texture), a wake-up is a small part.
const SHORT: Duration = Duration::from_micros(300);
/// A request that comes no later belongs to a row of them: two wake-ups, and what the program does in between.
const NEAR: Duration = Duration::from_micros(400);
/// From so much credit on it is worth it. A program's first requests are not waited for.
const ENOUGH: i32 = 16;
/// The most credit there is, so that a few requests that were delayed, as on a busy machine many are, change nothing.
const MOST: i32 = 48;
/// What a request takes off that is none of a row.
const STRAY: i32 = 8;
/// What it takes off that nobody asked, doubled for each time before, so that no more than one of 256 requests is waited
/// for in vain: the program may sleep between them, or share its processor with the worker. That may change at any
/// time, and is tried again for that reason.
const UNASKED: i32 = 32;
const DOUBLINGS: u32 = 3;
/// So many requests that were there at once are of several programs.
const CROWD: u32 = 4;

impl Pace {
    /// Takes note of an answer; tells whether to stay awake for the next request.
    fn answered(&mut self, asked: Instant, answered: Instant) -> bool {
        let before = self.answered.replace(answered);
        let is_short = answered.saturating_duration_since(asked) < SHORT;
        self.credit = match before.and_then(|before| asked.checked_duration_since(before)) {
            Some(gap) if is_short && gap < NEAR => MOST.min(self.credit + 1),
            Some(_) => self.credit.min(0.max(self.credit - STRAY)),
            // Where requests overlap, several workers are awake anyway.
            None => self.credit.min(0),
        };
        self.credit >= ENOUGH
    }

    /// Takes note of how staying awake ended; tells whether another worker is wanted.
    fn ended(&mut self, ended: Ended) -> bool {
        self.at_once = if ended == Ended::AskedAtOnce { self.at_once + 1 } else { 0 };
        if ended == Ended::Unasked {
            self.credit -= UNASKED << self.unasked;
            self.unasked = DOUBLINGS.min(self.unasked + 1);
        } else {
            self.unasked = 0;
        }
        let is_crowd = self.at_once >= CROWD;
        if is_crowd {
            self.at_once = 0;
            self.credit = self.credit.min(0);
        }
        is_crowd
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
    use std::thread;

    use super::*;

    /// A pipe is as good a device as any.
    fn vigil(workers: usize) -> (Vigil, PipeReader, PipeWriter) {
        let (device, requests) = pipe().unwrap();
        (Vigil::new(device.try_clone().unwrap().into(), workers), device, requests)
    }

    /// A pace after so many requests, each of which comes `gap` after the last answer and is answered after `short`.
    fn after(pace: &mut Pace, requests: u32, gap: Duration, short: Duration) -> bool {
        let mut last = pace.answered.unwrap_or_else(Instant::now);
        let mut is_worth_it = false;
        for _ in 0..requests {
            is_worth_it = pace.answered(last + gap, last + gap + short);
            last = last + gap + short;
        }
        is_worth_it
    }

    const QUICK: Duration = Duration::from_micros(20);
    const SLOW: Duration = Duration::from_millis(2);

    #[test]
    fn only_a_row_of_short_requests_is_waited_for() {
        assert!(!after(&mut Pace::default(), 16, QUICK, QUICK), "a few are no row");
        assert!(after(&mut Pace::default(), 17, QUICK, QUICK));
        assert!(!after(&mut Pace::default(), 1000, SLOW, QUICK), "pauses between them");
        assert!(!after(&mut Pace::default(), 1000, QUICK, SLOW), "long answers");
    }

    #[test]
    fn a_few_delays_do_not_end_a_row_and_a_pause_does() {
        let mut pace = Pace::default();
        after(&mut pace, 100, QUICK, QUICK);
        assert!(after(&mut pace, 3, SLOW, QUICK));
        assert!(!after(&mut pace, 3, SLOW, QUICK));
    }

    #[test]
    fn nobody_stays_awake_for_several_programs() {
        let mut pace = Pace::default();
        after(&mut pace, 100, QUICK, QUICK);
        let last = pace.answered.unwrap();
        assert!(
            !pace.answered(last.checked_sub(QUICK).unwrap(), last + QUICK),
            "asked before the last answer"
        );
        after(&mut pace, 100, QUICK, QUICK);
        let at_once = |pace: &mut Pace, times| (0..times).filter(|_| pace.ended(Ended::AskedAtOnce)).count();
        assert_eq!(at_once(&mut pace, 3), 0, "the program itself was quick");
        assert!(!pace.ended(Ended::Asked));
        assert_eq!(at_once(&mut pace, 4), 1, "another worker is wanted");
        assert!(!after(&mut pace, 1, QUICK, QUICK));
    }

    #[test]
    fn where_nobody_asks_it_is_tried_ever_more_rarely() {
        let mut pace = Pace::default();
        let mut rows = [0; 6];
        for requests in &mut rows {
            while !after(&mut pace, 1, QUICK, QUICK) {
                *requests += 1;
            }
            pace.ended(Ended::Unasked);
        }
        assert_eq!(rows, [16, 31, 63, 127, 255, 255]);
        after(&mut pace, 400, QUICK, QUICK);
        pace.ended(Ended::Asked);
        pace.ended(Ended::Unasked);
        assert!(after(&mut pace, 32, QUICK, QUICK), "it is not held against the next program");
    }

    #[test]
    fn staying_awake_ends_with_a_request_or_without_one() {
        let (vigil, _device, mut requests) = vigil(1);
        assert_eq!(vigil.stay_awake(AWAKE), Ended::Unasked);
        thread::scope(|scope| {
            let awake = scope.spawn(|| vigil.stay_awake(Duration::from_secs(86_400)));
            thread::sleep(Duration::from_millis(20));
            requests.write_all(b"?").unwrap();
            assert_eq!(awake.join().unwrap(), Ended::Asked);
        });
    }

    /// Makes requests of which others take so many, and then one more, for which somebody stays awake.
    fn ask(workers: usize, taken: usize, rests: bool) {
        let (vigil, mut device, mut requests) = vigil(workers);
        thread::scope(|scope| {
            let awake = scope.spawn(|| vigil.stay_awake(Duration::from_secs(86_400)));
            for _ in 0..taken {
                thread::sleep(Duration::from_millis(20));
                requests.write_all(b"?").unwrap();
                thread::sleep(Duration::from_millis(20));
                assert!(!awake.is_finished(), "it was taken from a worker who slept");
                device.read_exact(&mut [0]).unwrap();
                vigil.resting.fetch_add(usize::from(rests), Ordering::Relaxed);
            }
            thread::sleep(Duration::from_millis(20));
            requests.write_all(b"?").unwrap();
            assert_eq!(awake.join().unwrap(), Ended::Asked);
        });
    }

    #[test]
    fn others_are_let_have_a_request_before_they_rest() {
        ask(2, 1, true);
        ask(4, 3, true);
    }

    #[test]
    fn where_others_do_not_rest_nobody_stays_awake_beside_them() {
        ask(4, 3, false);
    }

    #[test]
    fn nobody_waits_for_a_worker_who_is_busy() {
        let (vigil, _device, mut requests) = vigil(2);
        thread::scope(|scope| {
            vigil.answer(|| {
                let awake = scope.spawn(|| vigil.stay_awake(Duration::from_secs(86_400)));
                requests.write_all(b"?").unwrap();
                assert_eq!(awake.join().unwrap(), Ended::Asked);
            });
        });
        assert_eq!(vigil.stay_awake(AWAKE), Ended::Asked, "somebody sleeps, and did not wake up");
    }

    #[test]
    fn nothing_else_is_done_while_somebody_waits() {
        let (vigil, _device, mut requests) = vigil(1);
        let keep = || {
            // As after a row of requests.
            *vigil.pace() = Pace { answered: Some(Instant::now()), credit: MOST, ..Pace::default() };
            let mut is_done = false;
            vigil.keep(Instant::now(), || is_done = true);
            is_done
        };
        assert!(keep());
        requests.write_all(b"?").unwrap();
        assert!(!keep());
        assert_eq!(vigil.pace().at_once, 1);
        assert!(!vigil.is_kept.load(Ordering::Relaxed));
    }

    #[test]
    fn rest_ends_when_nobody_answers_and_when_somebody_calls() {
        let (vigil, _device, _requests) = vigil(2);
        vigil.rest();
        thread::scope(|scope| {
            let resting = scope.spawn(|| vigil.rest());
            while !resting.is_finished() {
                // Requests are being answered all the while.
                vigil.answers.fetch_add(1, Ordering::Relaxed);
                vigil.call.notify_one();
            }
        });
        assert_eq!(vigil.resting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_end_of_the_mount_keeps_nobody_awake() {
        let (vigil, _device, requests) = vigil(1);
        drop(requests);
        assert!(vigil.is_asked());
    }
}
