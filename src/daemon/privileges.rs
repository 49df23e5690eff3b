//! Mounts with fewer privileges: root makes the mount, and a process with fewer rights reads archives that
//! may be hostile. Implements `-o setuid=` and `-o drop_privileges`.

use std::io;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use super::error::DaemonError;
use crate::system::credentials::{Credentials, Ids};
use crate::system::subprocess::Program;

/// Which rights the daemon keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Privileges {
    /// The user that the daemon becomes, by name or number.
    pub(crate) user: Option<String>,
    /// Whether the daemon gives up all capabilities, and can never get any.
    pub(crate) are_dropped: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) ids: Ids,
    home: PathBuf,
}

/// How long the database of users may take. It may be on another machine.
const USERS_TIME: Duration = Duration::from_secs(30);

impl Privileges {
    /// Whether the daemon gets fewer rights than this process.
    pub(crate) fn are_fewer(&self) -> bool {
        self.user.is_some() || self.are_dropped
    }

    /// The user that the daemon becomes.
    pub(crate) fn find_user(&self) -> Result<Option<User>, DaemonError> {
        let Some(name) = &self.user else { return Ok(None) };
        let unknown = || DaemonError::NoUser(name.clone());
        let line = ask(Program::installed("getent").args(["passwd", "--", name]))?;
        let (login, uid, gid, home) = parse_passwd(&line).ok_or_else(unknown)?;
        let groups = ask(Program::installed("id").args(["-G", "--", login]))?;
        let groups = groups.split_whitespace().map(|it| it.parse().ok()).collect::<Option<_>>();
        let ids = Ids { uid, gid, groups: groups.ok_or_else(unknown)? };
        Ok(Some(User { ids, home }))
    }

    /// This program, to be started with these rights. Of the environment, it gets only what the user's own
    /// login would set, and the level of the log.
    pub(crate) fn program(&self, user: Option<User>) -> Program {
        // The folder of profiles is below one of these.
        let (ids, home, config) = match user {
            Some(user) => (Some(user.ids), Some(user.home.into_os_string()), None),
            None => (None, std::env::var_os("HOME"), std::env::var_os("XDG_CONFIG_HOME")),
        };
        let credentials = Credentials { user: ids, drops_capabilities: self.are_dropped };
        let level = std::env::var_os("RUST_LOG");
        let kept = [("HOME", home), ("XDG_CONFIG_HOME", config), ("RUST_LOG", level)];
        let set = |program: Program, (name, value): (&str, Option<_>)| match value {
            Some(value) => program.env(name, value),
            None => program,
        };
        kept.into_iter().fold(Program::itself_as(credentials), set)
    }
}

/// The output of a program that asks the database of users.
fn ask(program: Program) -> Result<String, DaemonError> {
    let output: Option<Output> = program.output_within(USERS_TIME).map_err(DaemonError::NoUsers)?;
    let output = output.ok_or_else(|| DaemonError::NoUsers(io::ErrorKind::TimedOut.into()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Parses a line of `getent passwd`: `name:password:uid:gid:comment:home:shell`.
fn parse_passwd(line: &str) -> Option<(&str, u32, u32, PathBuf)> {
    let mut fields = line.trim_end().split(':');
    let login = fields.next()?;
    let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((login, uid, gid, fields.nth(1)?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let find = |user: &str| Privileges { user: Some(user.into()), are_dropped: false }.find_user();
        for name in ["0", "root"] {
            let User { ids, home } = find(name).unwrap().unwrap();
            assert_eq!((ids.uid, ids.gid, home), (0, 0, "/root".into()));
            assert!(ids.groups.contains(&0), "{ids:?}");
        }
        let unknown = find("no-such-user").unwrap_err();
        assert_eq!(unknown.to_string(), "-o setuid=no-such-user: no such user");
    }
}
