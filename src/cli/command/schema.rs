//! `bsafs schema`: prints the JSON schema of what commands print with `--json`.

use std::io::Write;

use clap::Args;

use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::stdout;

/// Print the JSON schema of what commands print with --json
///
/// The schema has a version, and a definition for each command. Fields may be added without a new version.
#[derive(Args, Debug)]
pub(crate) struct Schema {}

/// The schema.
const SCHEMA: &str = include_str!("../schema.json");

impl Schema {
    #[expect(clippy::unused_self, reason = "every command has this form")]
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let mut out = stdout();
        out.write_all(SCHEMA.as_bytes())?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
