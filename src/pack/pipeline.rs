//! Encodes files on all processors, and gives their pieces to one writer, in order.
//!
//! Threads take files in order, so the file that the writer waits for is always being encoded. A thread
//! begins a file only if its bytes and their encoding fit into the budget, or if nothing else is in memory.
//! So the number of threads changes neither the result nor the memory by much.

use std::thread;

use super::error::{PackError, PackErrorKind};
use super::piece::{Piece, PieceMaker};
use super::planned::{How, PlannedFile};
use crate::content::codec::Level;
use crate::format::write::NewKind;
use crate::limits::{PACK_BUDGET, PACK_WHOLE_MAX};
use crate::system::memory::{self, processors};
use crate::system::sync::{Condvar, Mutex};

/// What a file became.
pub(super) enum Made {
    Pieces(Vec<Piece>),
    /// It is too large to be held in memory. The writer encodes it while it copies it.
    Large,
}

/// Whether a file is encoded while it is copied. The mips of a texture are in pieces anyway.
fn is_large(file: &PlannedFile) -> bool {
    file.size > PACK_WHOLE_MAX && file.how != How::Texture
}

/// What threads share.
struct State {
    /// The next file to begin.
    next: usize,
    /// Bytes of files in memory, with their encodings.
    used: u64,
    /// Files that were encoded and not written yet.
    done: Vec<(usize, Result<Made, PackError>)>,
    is_stopped: bool,
}

/// Makes the pieces of all files, and calls `take` with each, in order.
pub(super) fn run(
    files: &[&PlannedFile],
    (kind, level, threads): (NewKind, Level, Option<usize>),
    mut take: impl FnMut(usize, Made) -> Result<(), PackError>,
) -> Result<(), PackError> {
    let state = State { next: 0, used: 0, done: Vec::new(), is_stopped: false };
    let (state, changed) = (Mutex::new(state), Condvar::new());
    // The bytes, their encoding, and what decoding them from an archive takes.
    let cost = |file: &PlannedFile| if is_large(file) { 0 } else { file.size.saturating_mul(3) };
    let work = || {
        let _stop = StopIfPanicking { state: &state, changed: &changed };
        let mut maker = PieceMaker::new(kind, level);
        loop {
            let mut at = state.lock();
            let index = loop {
                let Some(file) = files.get(at.next).filter(|_| !at.is_stopped) else { return };
                if at.used == 0 || at.used.saturating_add(cost(file)) <= PACK_BUDGET {
                    break at.next;
                }
                at = changed.wait(at);
            };
            at.next += 1;
            at.used = at.used.saturating_add(cost(files[index]));
            drop(at);
            let made = if is_large(files[index]) {
                Ok(Made::Large)
            } else {
                maker.pieces(files[index]).map(Made::Pieces)
            };
            state.lock().done.push((index, made));
            changed.notify_all();
        }
    };
    let count = threads.unwrap_or_else(processors).clamp(1, THREADS_MAX).min(files.len().max(1));
    thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..count {
            if started > 0 && !memory::has_room_for_threads(started) {
                break;
            }
            started += usize::from(thread::Builder::new().spawn_scoped(scope, work).is_ok());
        }
        let taken = if started == 0 {
            let mut maker = PieceMaker::new(kind, level);
            files.iter().enumerate().try_for_each(|(index, file)| {
                let made = if is_large(file) { Made::Large } else { Made::Pieces(maker.pieces(file)?) };
                take(index, made)
            })
        } else {
            take_all(files, &state, &changed, cost, &mut take)
        };
        state.lock().is_stopped = true;
        changed.notify_all();
        taken
    })
}

/// Stops the writer if a thread panics, because it would wait for that thread for ever.
struct StopIfPanicking<'s> {
    state: &'s Mutex<State>,
    changed: &'s Condvar,
}

impl Drop for StopIfPanicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.state.lock().is_stopped = true;
            self.changed.notify_all();
        }
    }
}

const THREADS_MAX: usize = 256;

fn take_all(
    files: &[&PlannedFile],
    state: &Mutex<State>,
    changed: &Condvar,
    cost: impl Fn(&PlannedFile) -> u64,
    take: &mut impl FnMut(usize, Made) -> Result<(), PackError>,
) -> Result<(), PackError> {
    for (index, file) in files.iter().enumerate() {
        let mut at = state.lock();
        let made = loop {
            if at.is_stopped {
                return Err(PackError::new(PackErrorKind::Io, "a thread that encodes files has failed"));
            }
            if let Some(found) = at.done.iter().position(|(done, _)| *done == index) {
                break at.done.swap_remove(found).1;
            }
            at = changed.wait(at);
        };
        drop(at);
        take(index, made?)?;
        let mut at = state.lock();
        at.used = at.used.saturating_sub(cost(file));
        drop(at);
        changed.notify_all();
    }
    Ok(())
}
