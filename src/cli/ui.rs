//! What every command gets in addition to its own arguments.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    /// Whether only errors are printed.
    pub(crate) is_quiet: bool,
    /// The definition of the command line, for help and completions.
    pub(crate) definition: fn() -> clap::Command,
}
