//! The built binary, as a user runs it: exit codes, output, and that it gives the service's answers.

mod bill;
mod demo;
mod foreign;
mod help;
mod imports;
mod inspect;
mod migrate;
mod plan;
mod readme;
mod service;
mod shared;
mod support;
mod verify;
mod watch;
