//! Mounts with fewer privileges: root makes the mount, and a process with fewer rights reads archives that
//! may be hostile. Implements `-o setuid=` and `-o drop_privileges` with setpriv of util-linux.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::DaemonError;

/// Which rights the daemon keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Privileges {
    /// The user that the daemon becomes, by name or number.
    pub(crate) user: Option<String>,
    /// Whether the daemon gives up all capabilities, and can never get any.
    pub(crate) are_dropped: bool,
}

/// A user of the system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) home: PathBuf,
}

impl Privileges {
    /// Whether the daemon gets fewer rights than this process.
    pub(crate) fn are_fewer(&self) -> bool {
        self.user.is_some() || self.are_dropped
    }

    /// The user that the daemon becomes.
    ///
    /// # Errors
    /// There is no user of this name.
    pub(crate) fn find_user(&self) -> Result<Option<User>, DaemonError> {
        let Some(name) = &self.user else { return Ok(None) };
        let mut getent = Command::new("getent");
        let output = getent.args(["passwd", "--", name]).stdin(Stdio::null()).output();
        let line = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let line = line.map_err(DaemonError::NoUsers)?;
        let unknown = || DaemonError::NoUser(name.clone());
        parse_passwd(&line).ok_or_else(unknown).map(Some)
    }

    /// A command that runs this program again with these rights.
    pub(crate) fn command(&self, user: Option<&User>) -> std::io::Result<Command> {
        let mut command = Command::new("setpriv");
        if let Some(User { uid, gid, home }) = user {
            command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--init-groups".into()]);
            command.env("HOME", home);
        }
        if self.are_dropped {
            command.args(["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]);
        }
        command.arg("--").arg(std::env::current_exe()?);
        Ok(command)
    }
}

/// Parses a line of `getent passwd`: `name:password:uid:gid:comment:home:shell`.
fn parse_passwd(line: &str) -> Option<User> {
    let mut fields = line.trim_end().split(':').skip(2);
    let (uid, gid) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(User { uid, gid, home: fields.nth(1)?.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let find = |user: &str| Privileges { user: Some(user.into()), are_dropped: false }.find_user();
        let root = User { uid: 0, gid: 0, home: "/root".into() };
        assert_eq!(find("0").unwrap().unwrap(), root);
        assert_eq!(find("root").unwrap().unwrap(), root);
        let unknown = find("no-such-user").unwrap_err();
        assert_eq!(unknown.to_string(), "-o setuid=no-such-user: no such user");
    }
}
