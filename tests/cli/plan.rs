//! Plan documents themselves.

use super::support::{fixture, run};

#[test]
fn the_schema_of_plan_documents_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::read_to_string(fixture("schemas/plan.schema.json")).unwrap();
    assert_eq!(run(folder.path(), "plan schema").done().stdout, file);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no database was made");
}
