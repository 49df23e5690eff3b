//! The program: everything is in the library, which the tests can reach.

fn main() -> std::process::ExitCode {
    bsafs::cli::main()
}
