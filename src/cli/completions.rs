//! `bsafs completions`: scripts by which shells complete our arguments.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use super::exit::{Exit, Failure};
use super::output::stdout;

/// Print completions for a shell
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self, mut bsafs: Command) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut bsafs, "bsafs", &mut script);
        let mut out = stdout();
        out.write_all(&script)?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
