//! fusermount3: its name, what it says, and why it had no right to mount or unmount.
//!
//! It is setuid root. Where it does not become root, the kernel answers it with EPERM, and it does not say
//! more. So the causes that can be checked are checked here, for mounting and unmounting.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capability_is_in_bounding_set, no_new_privs};

use crate::shown::Shown;
use crate::system::process::is_in_user_namespace;
use crate::system::subprocess::find;
use crate::system::whole_file;

/// The program that mounts and unmounts for ordinary users.
pub(super) const HELPER: &str = "fusermount3";
/// How long that program may take. It answers at once, unless a disk below the mountpoint hangs.
pub(super) const HELPER_TIME: Duration = Duration::from_secs(60);
const SETUID: u32 = 0o4000;

/// Why this process or fusermount3 had no right to mount or unmount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// Neither this process nor one that it starts can have the right to mount.
    NoCapability,
    /// No program that this process starts gets more rights than this process has.
    NoNewPrivileges,
    /// The mount or the mount table belongs to another user namespace.
    UserNamespace,
    /// The program, which this is, does not belong to root or has no setuid bit.
    NoSetuid(PathBuf),
    /// The program, which this is, is on a disk that is mounted with `nosuid`.
    OnNosuidDisk(PathBuf),
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCapability => f.write_str(
                "nothing in this container may mount or unmount, because it lacks CAP_SYS_ADMIN; start it \
                 with `--cap-add SYS_ADMIN`, or run bsafs outside it",
            ),
            Self::NoNewPrivileges => f.write_str(
                "fusermount3 cannot become root, because no-new-privileges is set for this process; run \
                 bsafs outside the sandbox, container, service (NoNewPrivileges=) or `setpriv` that set it",
            ),
            Self::UserNamespace => f.write_str(
                "this process is in a user namespace, and has no rights over mounts that belong to another \
                 one; run bsafs outside it (container, sandbox or `unshare --user`)",
            ),
            Self::NoSetuid(program) => write!(
                f,
                "{} cannot become root, because it is not setuid root; install your distribution's package \
                 fuse3 again, or put the folder of its fusermount3 first in PATH",
                program.shown()
            ),
            Self::OnNosuidDisk(program) => write!(
                f,
                "{} cannot become root, because its disk is mounted with nosuid; put the folder of a \
                 fusermount3 on another disk first in PATH",
                program.shown()
            ),
        }
    }
}

impl Hindrance {
    /// The cause of a refusal, by what fusermount3 wrote to standard error. `None` if it is another one.
    pub(super) fn of_refusal(stderr: &str) -> Option<Self> {
        // Its messages are in English.
        let is_denied = stderr.contains("Operation not permitted");
        is_denied.then(|| Facts::gather().hindrance(find(HELPER).ok().as_deref())).flatten()
    }

    /// The cause of a refusal of the kernel to mount for root. `None` if it is another one.
    pub(super) fn of_root(errno: Errno) -> Option<Self> {
        (errno == Errno::PERM).then(|| Facts::gather().hindrance(None)).flatten()
    }
}

/// What is known of this process.
struct Facts {
    may_mount: bool,
    gets_rights: bool,
    is_in_user_namespace: bool,
}

impl Facts {
    fn gather() -> Self {
        Self {
            may_mount: capability_is_in_bounding_set(CapabilitySet::SYS_ADMIN).unwrap_or(true),
            // Root has its rights already.
            gets_rights: geteuid().is_root() || !no_new_privs().unwrap_or(false),
            is_in_user_namespace: is_in_user_namespace(),
        }
    }

    fn hindrance(&self, program: Option<&Path>) -> Option<Hindrance> {
        if !self.may_mount {
            return Some(Hindrance::NoCapability);
        }
        if !self.gets_rights {
            return Some(Hindrance::NoNewPrivileges);
        }
        if self.is_in_user_namespace {
            return Some(Hindrance::UserNamespace);
        }
        let program = program?;
        let file = program.metadata().ok()?;
        // A script has another program mount.
        if whole_file::read_start(program, 2).is_ok_and(|(start, _)| start == b"#!") {
            return None;
        }
        let has_capabilities = rustix::fs::getxattr(program, "security.capability", &mut [0; 64][..]).is_ok();
        if !has_capabilities && (file.mode() & SETUID == 0 || file.uid() != 0) {
            return Some(Hindrance::NoSetuid(program.to_owned()));
        }
        let is_nosuid =
            rustix::fs::statvfs(program).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::NOSUID));
        is_nosuid.then(|| Hindrance::OnNosuidDisk(program.to_owned()))
    }
}

/// The reason that fusermount3 gives, without its own name, which it prints as it was called.
pub(super) fn reason_in(stderr: &str) -> &str {
    let reason = stderr.trim();
    match reason.split_once(": ") {
        Some((name, reason)) if name.ends_with(HELPER) => reason,
        _ => reason,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOTHING: Facts = Facts { may_mount: true, gets_rights: true, is_in_user_namespace: false };

    #[test]
    fn the_first_cause_that_holds_is_named() {
        let all = Facts { may_mount: false, gets_rights: false, is_in_user_namespace: true };
        assert_eq!(all.hindrance(None), Some(Hindrance::NoCapability));
        let facts = Facts { may_mount: true, ..all };
        assert_eq!(facts.hindrance(None), Some(Hindrance::NoNewPrivileges));
        let facts = Facts { gets_rights: true, ..facts };
        assert_eq!(facts.hindrance(None), Some(Hindrance::UserNamespace));
        assert_eq!(NOTHING.hindrance(None), None);
    }

    #[test]
    fn a_program_without_its_setuid_bit_or_of_another_owner_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(HELPER);
        fs::write(&program, "").unwrap();
        let with_mode = |mode| {
            fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
            NOTHING.hindrance(Some(&program))
        };
        let no_setuid = Some(Hindrance::NoSetuid(program.clone()));
        assert_eq!(with_mode(0o755), no_setuid);
        // Of another user, the bit does not help.
        assert_eq!(with_mode(0o4755) == no_setuid, !geteuid().is_root());
        fs::write(&program, "#!/bin/sh").unwrap();
        assert_eq!(with_mode(0o755), None, "a script needs no setuid bit");
    }

    #[test]
    fn other_refusals_have_no_such_cause() {
        for stderr in ["", "fusermount3: failed to unmount /m: Device or resource busy", "unknown option"] {
            assert_eq!(Hindrance::of_refusal(stderr), None, "{stderr}");
        }
    }
}
