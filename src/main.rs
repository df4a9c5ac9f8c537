//! Parses the command line and hands over.

/// A comparison is mostly small texts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    samebill::cli::main()
}
