//! `bsafs completions`: what a shell needs to complete our arguments.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use super::exit::{Exit, Failure};

/// Print completions for a shell
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "bsafs", &mut script);
        let mut out = super::out();
        out.write_all(&script)?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
