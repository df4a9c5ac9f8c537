//! Migrations are compiled in by a macro that reads their folder: a new one has to make cargo look again.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
