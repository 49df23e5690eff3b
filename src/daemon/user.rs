//! The user of `-o setuid=USER`. Root looks up the user, and starts this program again as that user,
//! before it opens any path. From then on, only that user's permissions count.

use std::io;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use rustix::process::geteuid;

use crate::failure::{Exit, Failure};
use crate::system::credentials::{Credentials, Ids};
use crate::system::subprocess::Program;
use crate::system::text::reason_not_started;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct User {
    ids: Ids,
    home: PathBuf,
}

/// How long the database of users may take. It may be on another machine.
const USERS_TIME: Duration = Duration::from_secs(30);

impl User {
    /// Finds a user by name or number.
    pub(crate) fn find(name: &str) -> Result<Self, Failure> {
        let unknown = || Failure::new(Exit::Usage, format!("-o setuid={name}: no such user"));
        let line = ask(Program::installed("getent").args(["passwd", "--", name]))?;
        let (login, uid, gid, home) = parse_passwd(&line).ok_or_else(unknown)?;
        let groups = ask(Program::installed("id").args(["-G", "--", login]))?;
        let groups = groups.split_whitespace().map(|it| it.parse().ok()).collect::<Option<_>>();
        let ids = Ids { uid, gid, groups: groups.ok_or_else(unknown)? };
        Ok(Self { ids, home })
    }

    /// Whether this process runs as this user.
    pub(crate) fn is_own(&self) -> bool {
        self.ids.uid == geteuid().as_raw()
    }

    /// This program, to be started as this user. From the environment, it gets only what the user's own
    /// login would set, and the level of the log.
    pub(crate) fn program(self) -> Program {
        let program = Program::itself_as(Credentials { user: Some(self.ids) }).env("HOME", self.home);
        match std::env::var_os("RUST_LOG") {
            Some(level) => program.env("RUST_LOG", level),
            None => program,
        }
    }
}

/// The output of a program that asks the database of users.
fn ask(program: Program) -> Result<String, Failure> {
    let output: io::Result<Option<Output>> = program.output_within(USERS_TIME);
    let output = output.and_then(|it| it.ok_or_else(|| io::ErrorKind::TimedOut.into())).map_err(|error| {
        let reason = reason_not_started(&error);
        Failure::new(Exit::Unavailable, format!("cannot ask for users with getent and id: {reason}"))
    })?;
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
        for name in ["0", "root"] {
            let User { ids, home } = User::find(name).unwrap();
            assert_eq!((ids.uid, ids.gid, home), (0, 0, "/root".into()));
            assert!(ids.groups.contains(&0), "{ids:?}");
        }
        let unknown = User::find("no-such-user").unwrap_err();
        assert_eq!(unknown.what, "-o setuid=no-such-user: no such user");
    }
}
