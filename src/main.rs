//! The `bsafs` program. All code is in the library, so that tests can reach it.

fn main() -> std::process::ExitCode {
    bsafs::cli::main()
}
