//! `bsafs completions`: scripts by which shells complete our arguments.

use std::io::Write;

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::stdout;
use super::shell_line::Shell;

/// Print completions for a shell
///
/// They call the program, and offer archives, games, mounts and paths inside archives.
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

// Not by clap_complete: its scripts know no paths inside archives; where it calls the program (unstable-dynamic), values do not
// know the words before them, and the shells expand what it prints.
impl Completions {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let script = match self.shell {
            Shell::Bash => include_str!("completion_scripts/bsafs.bash"),
            Shell::Zsh => include_str!("completion_scripts/bsafs.zsh"),
            Shell::Fish => include_str!("completion_scripts/bsafs.fish"),
        };
        let mut out = stdout();
        out.write_all(script.as_bytes())?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
