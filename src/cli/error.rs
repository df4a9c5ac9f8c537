//! What ends a command, and how it is told to people and to programs.

use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

use crate::http::Problem;

/// What ended a command.
#[derive(Debug)]
pub(super) enum CliError {
    /// The command line itself is wrong: exit code 2.
    Usage(String),
    /// Refused or failed, as a problem document: that of the service, or one of the same shape made here.
    Problem(Value),
    /// Whoever read our output closed it.
    OutputClosed,
}

impl CliError {
    /// A problem found by the command itself.
    pub(super) fn new(code: &str, detail: impl fmt::Display) -> Self {
        Self::Problem(json!({"code": code, "detail": detail.to_string()}))
    }

    /// A file that cannot be read.
    pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::new("unreadable_file", format!("{}: {error}", path.display()))
    }

    /// What the service would refuse with the same document; `place` names the file.
    pub(super) fn refused(place: Option<&Path>, problem: &Problem) -> Self {
        let mut document = problem.document();
        if let (Some(place), Some(Value::String(detail))) = (place, document.get_mut("detail")) {
            *detail = format!("{}: {detail}", place.display());
        }
        Self::Problem(Value::Object(document))
    }

    /// The same, with more to its detail where something was not found.
    pub(super) fn where_not_found(mut self, more: &str) -> Self {
        if let Self::Problem(problem) = &mut self
            && problem["status"] == 404
            && let Some(Value::String(detail)) = problem.get_mut("detail")
        {
            *detail = format!("{detail}; {more}");
        }
        self
    }

    /// Whether the command line is wrong, not what it asked for.
    pub(super) fn is_wrong_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }

    /// The problem document.
    pub(super) fn problem(&self) -> Value {
        match self {
            Self::Problem(problem) => problem.clone(),
            Self::Usage(message) => json!({"code": "wrong_usage", "detail": message}),
            Self::OutputClosed => json!({"code": "output_closed", "detail": "the output was closed"}),
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self {
            Self::Usage(message) => return f.write_str(message),
            Self::OutputClosed => return f.write_str("the output was closed"),
            Self::Problem(problem) => problem,
        };
        let text = |member: &str| problem[member].as_str();
        let detail = text("detail").or(text("title")).unwrap_or("no reason was given");
        write!(f, "{}: {detail}", text("code").unwrap_or("failed"))?;
        if let Some(pointer) = text("pointer") {
            write!(f, " (at {pointer})")?;
        }
        if let Some(line) = problem["line"].as_u64().map(|line| format!("line {line}"))
            && !detail.contains(&line)
        {
            write!(f, " ({line})")?;
        }
        // Lists of faults, one a line: fields of a plan, plans of a comparison, gaps of the readings.
        let lists =
            problem.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_array()?)));
        for (name, items) in lists {
            for item in items.iter().filter(|item| items.len() > 1 || item["message"] != detail).take(10) {
                write!(f, "\n  {}", one_line(item))?;
            }
            if items.iter().any(|item| item["code"] == "not_billable") {
                f.write_str(
                    "\n  with --allow-unbilled it is taken all the same, and every bill lists what is not on it",
                )?;
            }
            if items.len() > 10 {
                write!(f, "\n  … {} more of {name}", items.len() - 10)?;
            }
        }
        Ok(())
    }
}

/// An item of a list of faults, for people.
fn one_line(item: &Value) -> String {
    match item {
        // A fault: whose, where, what.
        Value::Object(members) if members.contains_key("message") => {
            let parts = ["plan_id", "pointer", "message"].iter().filter_map(|name| members.get(*name)?.as_str());
            parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
        }
        Value::Object(members) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let members: Vec<String> = members.iter().map(|(name, value)| format!("{name} {}", text(value))).collect();
            members.join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::new("io", error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_told_with_its_code_its_place_and_its_faults() {
        let error = CliError::Problem(json!({
            "status": 422, "code": "plans_not_billable", "detail": "some plans cannot be billed",
            "plans": [{"plan_id": "tou", "code": "attribute_missing", "pointer": "/charges/1"}],
        }));
        let text = error.to_string();
        assert!(text.starts_with("plans_not_billable: some plans cannot be billed\n"), "{text}");
        assert!(text.contains("plan_id tou") && text.contains("pointer /charges/1"), "{text}");
    }

    #[test]
    fn the_line_of_a_file_is_told_once() {
        let told = |detail: &str| {
            CliError::Problem(json!({"code": "input_unreadable", "detail": detail, "line": 3})).to_string()
        };
        assert_eq!(told("\"x\" is no date"), "input_unreadable: \"x\" is no date (line 3)");
        assert_eq!(told("line 3: \"x\" is no date"), "input_unreadable: line 3: \"x\" is no date");
    }

    #[test]
    fn a_tariff_with_parts_that_cannot_be_billed_names_the_flag() {
        let fault = |pointer: &str| json!({"code": "not_billable", "pointer": pointer, "message": "no times"});
        let problem = |errors: Value| {
            CliError::Problem(json!({"code": "plan_invalid", "detail": "no times", "errors": errors})).to_string()
        };
        let two = problem(json!([fault("/a"), fault("/b")]));
        assert!(two.contains("\n  /a: no times\n  /b: no times\n  with --allow-unbilled"), "{two}");
        let one = problem(json!([fault("/a")]));
        assert!(!one.contains("/a: no times") && one.contains("--allow-unbilled"), "the detail said it: {one}");
    }

    #[test]
    fn lines_of_a_refused_file_are_members() {
        let error = crate::usage::UsageError::new(crate::usage::UsageCode::Conflict, "two values").at_lines(7, 3);
        let problem = CliError::refused(Some(Path::new("june.csv")), &error.into()).problem();
        assert_eq!((&problem["code"], &problem["reason"]), (&json!("usage_unreadable"), &json!("conflict")));
        assert_eq!((&problem["line"], &problem["other_line"]), (&json!(3), &json!(7)));
    }
}
