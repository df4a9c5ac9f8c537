//! What documents may hold, as JSON Schema.

use crate::helpers::TestApp;
use crate::on_both_engines;

on_both_engines! {
    fn the_schema_of_plans_is_served_and_known_again(app: &TestApp) {
        let answer = app.get("/v1/schemas/plan").expect(200);
        assert_eq!(answer.header("content-type"), Some("application/schema+json"));
        let tag = answer.header("etag").expect("a schema has a tag").to_owned();
        assert_eq!(answer.json()["$id"], "urn:samebill:schema:plan");
        let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/schemas/plan.schema.json"));
        assert_eq!(answer.body, file.unwrap().as_bytes());
        let again = app.send("GET", "/v1/schemas/plan", &[("if-none-match", &tag)], b"").expect(304);
        assert_eq!(again.body, b"");
        app.send("GET", "/v1/schemas/plan", &[("if-none-match", "\"another\"")], b"").expect(200);
        assert_eq!(app.get("/v1/schemas/plan?x=1").expect(400).code(), "unknown_parameter");
        app.get("/v1/schemas/customer").expect(404);
    }
}
