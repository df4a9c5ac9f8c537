use std::path::Path;

use super::support::{fixture, run};

const CHOICES: &str = "--region C --payment-method direct_debit_monthly";

/// A product of two regions, in a folder of its own.
fn product(folder: &Path) -> String {
    let text = r#"{"code": "X", "display_name": "Flexible", "single_register_electricity_tariffs": {
        "_C": {"direct_debit_monthly": {"standing_charge_inc_vat": 50, "standard_unit_rate_inc_vat": 25}},
        "_D": {"direct_debit_monthly": {"standing_charge_inc_vat": 60, "standard_unit_rate_inc_vat": 26}}}}"#;
    let path = folder.join("flexible.json");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn foreign_plans_are_billed_by_content_with_what_they_leave_open_as_flags() {
    let folder = tempfile::tempdir().unwrap();
    let plan = product(folder.path());
    let usage = fixture("usage/uk-home-30min-2013-dst.csv");
    let bill = format!("bill --plan {plan} --usage {usage} --time-zone Europe/London --period 2013-10 --format json");
    let refused = run(folder.path(), &bill);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("give region, one of C, D"), "{}", refused.stderr);
    let result = run(folder.path(), &format!("{bill} {CHOICES}")).done().json();
    let lines = result["plans"][0]["periods"][0]["line_items"].as_array().unwrap();
    assert_eq!((&lines[0]["charge_id"], &lines[0]["amount"]), (&"standing".into(), &"15.5".into()), "31 x 0.50");
    assert_eq!(lines[1]["rate"], "0.25");
}

#[test]
fn foreign_plans_are_imported_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let plan = product(folder.path());
    let database = "--database-url sqlite://samebill.db";
    let stored = run(folder.path(), &format!("import plan {plan} {database} {CHOICES} --format json")).done().json();
    assert_eq!(stored["plan_id"], "flexible");
    assert_eq!(stored["media_type"], "application/vnd.octopus+json");
    let cdr = fixture("plans/foreign/cdr-controlled-load.json");
    let stored = run(folder.path(), &format!("import plan {cdr} {database} --format json")).done().json();
    assert_eq!(stored["media_type"], "application/vnd.cdr-energy+json");
    assert_eq!(stored["currency"], "AUD");
}

#[test]
fn what_the_customer_chooses_is_told_with_the_bill_and_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, usage) = (fixture("plans/foreign/cdr-fees.json"), fixture("usage/uk-home-30min-2013-dst.csv"));
    let bill = format!("bill --plan {plan} --usage {usage} --time-zone Europe/London --period 2013-10");
    let told = run(folder.path(), &bill).done().stdout;
    let place = "/data/electricityContract/greenPowerCharges/0";
    assert!(told.contains(&format!("not billed, optional: {place} (green power is a choice")), "{told}");
    assert!(told.contains("not applied: Bill by post, 2, which is billed where paper_bill is true"), "{told}");
    let words = run(folder.path(), &format!("plan explain {plan}")).done().stdout;
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Only if the customer's pay_on_time is false; else the bill lists it"), "{words}");
    assert!(
        words.contains(&format!(
            "{place}: green power is a choice of the customer that the plan does not tell (optional:"
        ))
    );
}
