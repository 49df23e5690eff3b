//! `bsafs schema`: prints the JSON schema of what commands print with `--json`.

use clap::Args;

use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::stdout;
use crate::cli::ui::Ui;
use crate::note::NoteCode;

/// Print the JSON schema of what commands print with --json
///
/// The schema has a version, and a definition for each command. Fields may be added without a new version.
#[derive(Args, Debug)]
pub(crate) struct Schema {}

/// The place of the codes of notes in the schema.
const NO_CODES: &str = "\"enum\": []";

const SCHEMA: &str = include_str!("../../schema.json");

impl Schema {
    #[expect(clippy::unused_self, reason = "every command has this form")]
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let mut out = stdout();
        let codes: Vec<String> = NoteCode::ALL.iter().map(|code| format!("{:?}", code.as_str())).collect();
        out.write_all(SCHEMA.replace(NO_CODES, &format!("\"enum\": [{}]", codes.join(", "))).as_bytes())?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
