//! Other processes, as `/proc` shows them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::whole_file;
use crate::limits::PROC_FILE_MAX;

/// All processes except this one: their numbers and their folders in `/proc`.
pub(crate) fn others() -> io::Result<impl Iterator<Item = (u32, PathBuf)>> {
    let found = fs::read_dir("/proc")?.flatten();
    // Names that are not numbers include links to the folder of this process.
    let numbered = found.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    Ok(numbered.filter(|(pid, _)| *pid != std::process::id()))
}

/// The beginning of a file in `/proc`. Bytes that are not UTF-8 are replaced.
pub(crate) fn file_in_proc(path: &Path) -> io::Result<String> {
    let (content, _) = whole_file::read_start(path, PROC_FILE_MAX)?;
    Ok(String::from_utf8_lossy(&content).into_owned())
}

/// Whether a process, given its folder in `/proc`, runs bsafs, by the name that bsafs gives itself. The
/// command line is in the memory of the process, which another user can lock for ever.
pub(crate) fn runs_bsafs(process: &Path) -> bool {
    file_in_proc(&process.join("comm")).is_ok_and(|name| name.contains("bsafs"))
}

/// Whether a process, given its folder in `/proc`, runs a program. Threads of the kernel run none, and
/// neither do processes that have ended. Reads nothing in the memory of the process.
pub(crate) fn runs_program(process: &Path) -> bool {
    /// `PF_KTHREAD` of the kernel.
    const OF_KERNEL: u32 = 0x0020_0000;
    let stat = file_in_proc(&process.join("stat")).unwrap_or_default();
    // The name in parentheses may contain anything. See proc_pid_stat(5).
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let mut fields = rest.split_ascii_whitespace();
    let has_ended = matches!(fields.next(), Some("Z" | "X") | None);
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u32>().ok());
    !has_ended && flags.is_some_and(|flags| flags & OF_KERNEL == 0)
}

/// Numbers of signals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignalSet(u64);

impl SignalSet {
    pub(crate) fn contains(self, signal: i32) -> bool {
        (1..=64).contains(&signal) && self.0 >> (signal - 1) & 1 == 1
    }
}

/// The signals that this process ignores. None if `/proc` does not say.
pub(crate) fn ignored_signals() -> SignalSet {
    let status = file_in_proc(Path::new("/proc/self/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    SignalSet(mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0))
}

/// Whether this process is in a user namespace that was made for it, such as a container's. There, users have
/// other numbers. `false` if `/proc` does not say.
pub(crate) fn is_in_user_namespace() -> bool {
    file_in_proc(Path::new("/proc/self/uid_map")).is_ok_and(|map| is_partial(&map))
}

/// The user and the group with whose rights a process or a thread accesses files. `None` for a thread of the
/// kernel, which may act for anyone, and if `/proc` does not show the process.
pub(crate) fn file_access_ids(pid: u32) -> Option<(u32, u32)> {
    let status = file_in_proc(Path::new(&format!("/proc/{pid}/status"))).ok()?;
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    // The real, the effective, the saved and the file system's ID.
    let id = |name| value(name)?.split_ascii_whitespace().nth(3)?.parse().ok();
    let is_of_kernel = value("Kthread:")?.trim() != "0";
    Some((id("Uid:")?, id("Gid:")?)).filter(|_| !is_of_kernel)
}

/// Whether all user IDs of a process, given its folder in `/proc`, are this one.
pub(crate) fn runs_as(process: &Path, user: u32) -> bool {
    let status = file_in_proc(&process.join("status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let mut ids = ids.split_ascii_whitespace().peekable();
    ids.peek().is_some() && ids.all(|id| id.parse() == Ok(user))
}

/// Whether a process waits for something, or is stopped. One that is ready to run does not.
pub(crate) fn is_asleep(pid: u32) -> bool {
    let status = file_in_proc(Path::new(&format!("/proc/{pid}/status"))).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_none_or(|state| !state.trim_start().starts_with('R'))
}

/// Whether a signal or a tracer has stopped a process.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let status = file_in_proc(Path::new(&format!("/proc/{pid}/status"))).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| state.trim_start().starts_with(['T', 't']))
}

/// Whether this process began its session and has no terminal, like a daemon. `false` if `/proc` does not
/// say.
pub(crate) fn has_own_session() -> bool {
    let stat = file_in_proc(Path::new("/proc/self/stat")).unwrap_or_default();
    begins_session_without_terminal(&stat)
}

/// Whether a process began its session and has no terminal, by its `stat` in `/proc`. See proc_pid_stat(5).
fn begins_session_without_terminal(stat: &str) -> bool {
    // The name in parentheses may contain anything.
    let Some((start, rest)) = stat.rsplit_once(')') else { return false };
    let pid = start.split_ascii_whitespace().next();
    let mut fields = rest.split_ascii_whitespace().skip(3);
    let (session, terminal) = (fields.next(), fields.next());
    pid.is_some() && session == pid && terminal == Some("0")
}

/// Whether a map of users is not the first namespace's, where each user of the kernel has his own number.
fn is_partial(map: &str) -> bool {
    !map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_users_tells_namespaces_apart() {
        assert!(!is_partial("         0          0 4294967295\n"));
        for map in ["", "0 65534 1\n", "0 100000 65536\n", "0 0 1\n", "0 1000 1\n1 100000 65536\n"] {
            assert!(is_partial(map), "{map}");
        }
    }

    #[test]
    fn a_session_that_began_outside_the_namespace_of_processes_is_not_this_ones() {
        // getsid(2) answers 0 there, which is the number of no process.
        assert!(!begins_session_without_terminal("7 (bsafs) R 1 7 0 0 -1 4194304"));
        assert!(begins_session_without_terminal("7 (bsafs) S 1 7 7 0 -1 4194304"));
        assert!(begins_session_without_terminal("7 (a) 8 (b) S 1 7 7 0 -1 4194304"));
        assert!(!begins_session_without_terminal("7 (bsafs) S 1 7 6 0 -1 4194304"));
        assert!(!begins_session_without_terminal("7 (bsafs) S 1 7 7 34816 7 4194304"));
        for damaged in ["", "7", ")", "7 (bsafs)", "7 (bsafs) S 1 7", "(bsafs) S 1 7 7 0"] {
            assert!(!begins_session_without_terminal(damaged), "{damaged}");
        }
    }

    #[test]
    fn the_rights_of_a_process_are_known_but_not_those_of_the_kernel() {
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // Kernels before 6.8 do not say which threads are theirs.
        let is_known = fs::read_to_string("/proc/self/status").unwrap().contains("Kthread:");
        assert_eq!(file_access_ids(std::process::id()), is_known.then_some(own));
        let of_kernel = others().unwrap().find(|(_, folder)| fs::read_link(folder.join("exe")).is_err());
        let of_kernel = of_kernel.filter(|(_, folder)| fs::read(folder.join("cmdline")).unwrap().is_empty());
        assert_eq!(of_kernel.and_then(|(pid, _)| file_access_ids(pid)), None);
        assert_eq!(file_access_ids(u32::MAX), None);
    }

    #[test]
    fn threads_of_the_kernel_and_ended_processes_run_no_program() {
        let runs = |pid: u32| runs_program(Path::new(&format!("/proc/{pid}")));
        assert!(runs(std::process::id()) && !runs(u32::MAX));
        let mut of_kernel = others().unwrap().filter(|(_, folder)| {
            let name = fs::read_to_string(folder.join("comm"));
            name.is_ok_and(|name| name == "kthreadd\n")
        });
        // A container shows none.
        assert!(of_kernel.all(|(pid, _)| !runs(pid)));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let began = std::time::Instant::now();
        while runs(child.id()) {
            assert!(began.elapsed().as_secs() < 60, "a zombie counts as a program");
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_stopped_process_is_recognised() {
        let mut child = std::process::Command::new("sh").args(["-c", "kill -STOP $$"]).spawn().unwrap();
        let began = std::time::Instant::now();
        while !is_stopped(child.id()) {
            assert!(began.elapsed().as_secs() < 60 && child.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        child.kill().and_then(|()| child.wait()).unwrap();
        assert!(!is_stopped(child.id()) && !is_stopped(std::process::id()));
    }

    #[test]
    fn this_process_and_links_to_it_are_not_other_processes() {
        let others: Vec<_> = others().unwrap().collect();
        let own = std::process::id().to_string();
        for name in ["self", "thread-self", "version", &own] {
            assert!(!others.iter().any(|(_, folder)| *folder == Path::new("/proc").join(name)), "{name}");
        }
        assert!(others.contains(&(1, "/proc/1".into())));
    }
}
