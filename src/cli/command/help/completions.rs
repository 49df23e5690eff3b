//! `bsafs completions`: prints the scripts with which shells complete the arguments of bsafs.

use clap::Args;

use crate::cli::completion::shell_line::Shell;
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::stdout;
use crate::cli::ui::Ui;

/// Print the completion script for a shell
///
/// The script calls bsafs to complete commands, options, archives, games, mounts and paths inside archives.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell that runs the script
    #[arg(value_enum)]
    shell: Shell,
}

// clap_complete is not used: its scripts cannot complete paths inside archives. Its unstable-dynamic mode
// completes values without the words before them, and the shells expand what it prints.
impl Completions {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let script = match self.shell {
            Shell::Bash => include_str!("../../completion/scripts/bsafs.bash"),
            Shell::Zsh => include_str!("../../completion/scripts/bsafs.zsh"),
            Shell::Fish => include_str!("../../completion/scripts/bsafs.fish"),
        };
        let mut out = stdout();
        out.write_all(script.as_bytes())?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
