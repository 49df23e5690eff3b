//! Finds the process that serves a mount. What a daemon says about its process is only a word: the kernel
//! proves it, by the process's user and its descriptor of `/dev/fuse`.

use std::fs::{read_dir, read_link};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use crate::daemon::overlay;
use crate::fuse::connection_number;
use crate::system::mountinfo::MountEntry;
use crate::system::process::{self, runs_as, runs_bsafs};

/// How long the search may take. A user may have millions of open descriptors.
const SEARCH_TIME: Duration = Duration::from_secs(1);

/// The process that serves a mount. `None` if there is none, if this user may not inspect it, or if the
/// search takes too long.
pub(crate) fn process_of(mounted: &MountEntry) -> Option<u32> {
    let end = Instant::now() + SEARCH_TIME;
    let mut processes = process::others().ok()?;
    processes.find(|(_, folder)| serves(folder, mounted, end) == Proof::Proven).map(|(pid, _)| pid)
}

/// Whether a process serves a mount, so that it may get a signal that would end any other one.
pub(crate) fn is_served_by(mounted: &MountEntry, pid: u32) -> bool {
    let process = format!("/proc/{pid}");
    let process = Path::new(&process);
    match serves(process, mounted, Instant::now() + SEARCH_TIME) {
        Proof::Proven => true,
        // A daemon that cannot be traced. The user cannot signal processes of others.
        Proof::Hidden => is_own(mounted) && !geteuid().is_root() && runs_bsafs(process),
        Proof::None => false,
    }
}

/// Whether a process serves a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    Proven,
    /// It runs as the mount's user, but its descriptors may not be read.
    Hidden,
    None,
}

/// Whether a process, named by its folder in `/proc`, serves a mount. It does not if that is not found until
/// `end`.
fn serves(process: &Path, mounted: &MountEntry, end: Instant) -> Proof {
    // A user's setuid program may have inherited his descriptor, but runs with other rights.
    if !runs_as(process, mounted.user()) {
        return Proof::None;
    }
    let descriptors = match read_dir(process.join("fd")) {
        Ok(descriptors) => descriptors,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Proof::Hidden,
        Err(_) => return Proof::None,
    };
    let covered = overlay::mountpoint(mounted);
    let (mut has_unnumbered, mut has_covered) = (false, false);
    for descriptor in descriptors.flatten() {
        if Instant::now() > end {
            return Proof::None;
        }
        let Ok(target) = read_link(descriptor.path()) else { continue };
        has_covered |= target == covered;
        if target != Path::new("/dev/fuse") {
            continue;
        }
        let info = process::file_in_proc(&process.join("fdinfo").join(descriptor.file_name()));
        match connection_number(&info.unwrap_or_default()) {
            Some(number) if mounted.device == format!("0:{number}") => return Proof::Proven,
            Some(_) => {}
            None => has_unnumbered = true,
        }
    }
    // Linux before 6.7 does not say which mount a descriptor belongs to. But a daemon also has the folder
    // open that its mount covers. Another user can open that one, too.
    if has_unnumbered && has_covered && is_own(mounted) { Proof::Proven } else { Proof::None }
}

fn is_own(mounted: &MountEntry) -> bool {
    mounted.user() == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_daemon_is_found_by_its_user_and_connection_or_if_it_is_own_by_the_covered_folder() {
        let own = geteuid().as_raw();
        let other = own + 1;
        for (user, runs_as, info, covered, expected) in [
            (own, own, "pos:\t0\nfuse_connection:\t39\n", "/elsewhere", true),
            (own, own, "pos:\t0\nfuse_connection:\t3\n", "/mnt", false),
            (own, own, "pos:\t0\n", "/mnt", true),
            (own, own, "pos:\t0\n", "/elsewhere", false),
            (other, other, "pos:\t0\nfuse_connection:\t39\n", "/mnt", true),
            (other, other, "pos:\t0\n", "/mnt", false),
            (other, own, "pos:\t0\nfuse_connection:\t39\n", "/mnt", false),
            (own, other, "pos:\t0\nfuse_connection:\t39\n", "/mnt", false),
        ] {
            let process = tempfile::TempDir::new().expect("cannot make a folder");
            let path = |name: &str| process.path().join(name);
            create_dir(path("fd")).and_then(|()| create_dir(path("fdinfo"))).expect("cannot make a folder");
            symlink(covered, path("fd/3")).expect("cannot make a link");
            symlink("/dev/fuse", path("fd/4")).expect("cannot make a link");
            write(path("fdinfo/4"), info).expect("cannot write");
            let ids = [runs_as; 4].map(|id| id.to_string()).join("\t");
            write(path("status"), format!("Name:\tbsafs\nUid:\t{ids}\nGid:\t0\t0\t0\t0\n"))
                .expect("cannot write");
            let mounted = MountEntry {
                id: 1,
                options: Default::default(),
                device: "0:39".into(),
                mountpoint: "/mnt".into(),
                root: "/".into(),
                kind: "fuse.bsafs".into(),
                source: String::new(),
                owner: Some((user, 0)),
            };
            let later = Instant::now() + Duration::from_secs(60);
            let proof = serves(process.path(), &mounted, later);
            assert_eq!(proof == Proof::Proven, expected, "{user} {runs_as} {info} {covered}");
            assert_eq!(serves(process.path(), &mounted, Instant::now()), Proof::None, "it takes too long");
            write(path("status"), format!("Name:\tbsafs\nUid:\t{user}\t0\t{user}\t{user}\n"))
                .expect("cannot write");
            let proof = serves(process.path(), &mounted, later);
            assert!(user == 0 || proof == Proof::None, "a setuid program");
        }
    }
}
