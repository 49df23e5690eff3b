//! Which user a process of bsafs becomes, and which rights it keeps. Root starts this program again to
//! read what another user owns: to ask that user's mounts, and to serve a mount for that user.
//!
//! That user could trace a process that starts under the same ID, and would get root's terminal,
//! environment and open files. So the new process starts as root. Before it reads anything, it leaves
//! root's session, forbids tracing, and then becomes the user. `execve` permits tracing again, so no
//! other program can do this.

use std::env;
use std::ffi::OsString;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior, setsid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

/// What a process becomes. The default keeps the user, and only guards the process from other processes of
/// that user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    /// The user; `None` if the process keeps its own.
    pub(crate) user: Option<Ids>,
}

/// The numbers of a user, the user's group, and the user's other groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
}

/// Environment variable with the credentials that this process takes. Each process that this program starts
/// of itself has it, apart from daemons that stay in the terminal's session until they have mounted.
pub(super) const VARIABLE: &str = "BSAFS_CREDENTIALS";

impl Credentials {
    /// The owner of a mount, without any other group.
    pub(crate) fn of_owner((uid, gid): (u32, u32)) -> Self {
        Self { user: Some(Ids { uid, gid, groups: Vec::new() }) }
    }

    /// The value of [`VARIABLE`]: `-` or `uid:gid:group,...`. An empty value stands for a session of its own,
    /// and nothing else.
    pub(super) fn text(&self) -> OsString {
        let numbers = |groups: &[u32]| groups.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let user = self.user.as_ref();
        let ids = |it: &Ids| format!("{}:{}:{}", it.uid, it.gid, numbers(&it.groups));
        user.map_or("-".to_owned(), ids).into()
    }

    fn parse(text: &str) -> Option<Self> {
        if text == "-" {
            return Some(Self { user: None });
        }
        let mut fields = text.split(':');
        let mut id = || fields.next()?.parse().ok().filter(|&id| id != u32::MAX);
        let (uid, gid) = (id()?, id()?);
        let groups = fields.next()?.split(',').filter(|it| !it.is_empty());
        let groups = groups.map(|it| it.parse().ok()).collect::<Option<_>>()?;
        Some(Self { user: Some(Ids { uid, gid, groups }) })
    }
}

/// Takes the credentials that the environment names, if it names some. The process must have a single thread,
/// and must not start this program again by `execve`.
///
/// # Errors
/// The value is wrong, or the system refuses. The process must end then.
pub(crate) fn assume() -> Result<(), Errno> {
    let Some(text) = env::var_os(VARIABLE) else { return Ok(()) };
    setsid()?;
    if text.is_empty() {
        return Ok(());
    }
    let credentials = text.to_str().and_then(Credentials::parse).ok_or(Errno::INVAL)?;
    forbid_tracing()?;
    let becomes_user = credentials.user.as_ref().is_some_and(|user| user.uid != 0);
    if let Some(Ids { uid, gid, groups }) = credentials.user {
        // A process that has capabilities cannot be traced by one that has none. A change of the user may
        // permit tracing (`fs.suid_dumpable`), so they are given up after it is forbidden again.
        set_keep_capabilities(true)?;
        let groups: Vec<Gid> = groups.into_iter().map(Gid::from_raw).collect();
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        set_thread_groups(&groups)?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        forbid_tracing()?;
        set_keep_capabilities(false)?;
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    if becomes_user { set_capabilities(None, sets) } else { Ok(()) }
}

/// Keeps processes of the same user from tracing this one, and from reading its environment, its memory and
/// its open files. `execve` ends this.
pub(crate) fn forbid_tracing() -> Result<(), Errno> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_the_environment() {
        let ids = |groups: &[u32]| Some(Ids { uid: 1000, gid: 100, groups: groups.to_vec() });
        for user in [None, ids(&[]), ids(&[4, 27])] {
            let credentials = Credentials { user: user.clone() };
            assert_eq!(Credentials::parse(credentials.text().to_str().unwrap()), Some(credentials));
        }
        for wrong in ["", "!", "1000", "1000:100", "4294967295:1:", "1:4294967295:", "1:2:x", "a:1:"] {
            assert_eq!(Credentials::parse(wrong), None, "{wrong}");
        }
    }
}
