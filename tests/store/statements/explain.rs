//! A recorded statement with its values put in, explained.

use std::collections::{BTreeMap, BTreeSet};

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use itertools::Itertools as _;
use serde_json::Value;

/// A partitioned database.
pub(super) struct Partitioned {
    connection: PgConnection,
    /// Partitioned table by partition.
    parents: BTreeMap<String, String>,
    /// Functions whose result is not that of their arguments alone.
    unsteady: BTreeSet<String>,
}

#[derive(QueryableByName)]
struct Pair {
    #[diesel(sql_type = Text)]
    a: String,
    #[diesel(sql_type = Text)]
    b: String,
}

#[derive(QueryableByName)]
struct Plan {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    text: String,
}

impl Partitioned {
    pub(super) fn connect(url: &str) -> Self {
        let mut connection = PgConnection::establish(url).expect("the database answers");
        let mut pairs = |sql: &str| -> Vec<(String, String)> {
            let rows: Vec<Pair> = diesel::sql_query(sql).load(&mut connection).unwrap();
            rows.into_iter().map(|pair| (pair.a, pair.b)).collect()
        };
        let parents = pairs(
            "SELECT child.relname::text AS a, parent.relname::text AS b FROM pg_inherits \
             JOIN pg_class AS child ON child.oid = inhrelid JOIN pg_class AS parent ON parent.oid = inhparent \
             WHERE parent.relkind = 'p'",
        );
        assert!(parents.len() > 40 && parents.len() % 4 == 0, "four partitions of each table: {parents:?}");
        let unsteady = pairs("SELECT DISTINCT proname::text AS a, '' AS b FROM pg_proc WHERE provolatile <> 'i'");
        let unsteady = unsteady.into_iter().map(|(name, _)| name).collect();
        Self { connection, parents: parents.into_iter().collect(), unsteady }
    }

    /// Checks one statement.
    ///
    /// * `values`: what was bound, as a debug text: `["default", [1, 2], None]`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn check(&mut self, text: &str, values: &str) -> Result<(), String> {
        let words = words(text);
        if words.windows(2).any(|pair| pair[0] == "on" && pair[1] == "conflict") && !text.contains("ON CONFLICT (") {
            return Err("the insert lacks its conflict target".to_owned());
        }
        if ["insert", "update", "delete"].contains(&words[0].as_str()) {
            self.check_functions(text, &words)?;
        }
        for plan in self.explain(text, &parse(values)?)? {
            self.check_plan(&plan, &words)?;
        }
        Ok(())
    }

    fn check_plan(&self, plan: &Value, words: &[String]) -> Result<(), String> {
        let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut relations = Vec::new();
        collect(plan, &mut relations);
        for (name, is_routed) in &relations {
            match self.parents.get(name) {
                Some(parent) => {
                    seen.entry(parent).or_default().insert(name);
                }
                // A row that is inserted goes to the partition of its tenant.
                None if *is_routed && self.parents.values().any(|parent| parent == name) => {
                    seen.entry(name).or_default();
                }
                None => return Err(format!("{name} is not partitioned")),
            }
        }
        for (table, partitions) in &seen {
            if partitions.len() > 1 {
                return Err(format!("it looks at {} partitions of {table}", partitions.len()));
            }
        }
        let tables: BTreeSet<&String> = self.parents.values().filter(|table| words.contains(table)).collect();
        if let Some(unseen) = tables.iter().find(|table| !seen.contains_key(table.as_str())) {
            return Err(format!("it looks at no partition of {unseen}"));
        }
        let numbers: BTreeSet<&str> = seen.values().flatten().filter_map(|name| name.rsplit('_').next()).collect();
        if numbers.len() > 1 {
            return Err(format!("it looks at partitions of more than one tenant: {numbers:?}"));
        }
        Ok(())
    }

    fn check_functions(&self, text: &str, words: &[String]) -> Result<(), String> {
        const WITHOUT_PARENTHESES: [&str; 5] =
            ["current_timestamp", "current_date", "current_time", "localtimestamp", "localtime"];
        let called = text.match_indices('(').map(|(at, _)| {
            let before = text[..at].trim_end();
            let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |i| i + 1);
            before[start..].to_ascii_lowercase()
        });
        let unsteady = called.filter(|name| self.unsteady.contains(name));
        let bare = words.iter().filter(|word| WITHOUT_PARENTHESES.contains(&word.as_str())).cloned();
        match unsteady.chain(bare).next() {
            Some(name) => Err(format!("it writes and calls {name}, which is not the same everywhere and always")),
            None => Ok(()),
        }
    }

    /// The plan for these values, and the one for any values, with these put in as it starts. What a list of numbers is
    /// (bytes, numbers of one or the other width) the text does not say: the first reading that the statement can have.
    fn explain(&mut self, text: &str, values: &[Bound]) -> Result<[Value; 2], String> {
        const EXPLAIN: &str = "EXPLAIN (FORMAT JSON, COSTS OFF)";
        let mut refusal = String::new();
        let readings = values.iter().map(Bound::literals).multi_cartesian_product();
        // Without values there is one reading.
        let readings = readings.chain(values.is_empty().then(Vec::new)).take(500);
        for literals in readings {
            let of_values = format!("{EXPLAIN} {}", put_in(text, &literals));
            let kinds = literals.iter().map(|literal| literal.rsplit_once("::").map_or("unknown", |(_, kind)| kind));
            let kinds = if literals.is_empty() { String::new() } else { format!("({})", kinds.format(", ")) };
            let prepare =
                format!("SET LOCAL plan_cache_mode = force_generic_plan; PREPARE any_values{kinds} AS {text}");
            let arguments = if literals.is_empty() { String::new() } else { format!("({})", literals.join(", ")) };
            let of_any = format!("{EXPLAIN} EXECUTE any_values{arguments}");
            let plans = self.connection.transaction(|connection| {
                let of_values: Plan = diesel::sql_query(of_values).get_result(connection)?;
                connection.batch_execute(&prepare)?;
                let of_any: Plan = diesel::sql_query(of_any).get_result(connection)?;
                connection.batch_execute("DEALLOCATE any_values")?;
                Ok::<_, diesel::result::Error>([of_values, of_any])
            });
            match plans {
                Ok(plans) => return Ok(plans.map(|plan| serde_json::from_str(&plan.text).expect("a plan is JSON"))),
                Err(error) => refusal = error.to_string(),
            }
        }
        Err(format!("it cannot be explained: {refusal}"))
    }
}

/// The words of a statement, in small letters.
fn words(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

/// Relations of a plan, and whether rows inserted there find their partition by themselves.
fn collect(plan: &Value, relations: &mut Vec<(String, bool)>) {
    match plan {
        Value::Object(node) => {
            let operation = node.get("Operation").and_then(Value::as_str);
            // An update or delete names the partitioned table, and under it the partitions that it looks at.
            if let Some(name) = node.get("Relation Name").and_then(Value::as_str)
                && matches!(operation, None | Some("Insert"))
            {
                relations.push((name.to_owned(), operation.is_some()));
            }
            // A plan for any values lists the partitions that rows could be in; the scan below has those it looks at.
            for (_, value) in node.iter().filter(|(name, _)| *name != "Target Tables") {
                collect(value, relations);
            }
        }
        Value::Array(values) => {
            for value in values {
                collect(value, relations);
            }
        }
        _ => {}
    }
}

/// The statement with literals in place of `$1`, `$2`, ….
fn put_in(text: &str, literals: &[String]) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let n_digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = after[..n_digits].parse().expect("a dollar stands before a number");
        whole.push_str(before);
        whole.push_str(&literals[number - 1]);
        rest = &after[n_digits..];
    }
    whole + rest
}

/// A value as a debug text shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bound {
    Null,
    /// A number, a truth value.
    Plain(String),
    /// A text, a date.
    Quoted(String),
    List(Vec<Bound>),
}

impl Bound {
    /// As SQL: every reading there is.
    fn literals(&self) -> Vec<String> {
        match self {
            Self::Null => vec!["NULL".to_owned()],
            Self::Plain(text) => vec![format!("({text})")],
            Self::Quoted(text) => vec![format!("'{}'", text.replace('\'', "''"))],
            Self::List(items) => {
                let joined = |items: Vec<String>| items.join(", ");
                let bytes = Self::bytes(items);
                let first = |item: &Self| item.literals().swap_remove(0);
                let array = |kind: &str| format!("ARRAY[{}]::{kind}[]", joined(items.iter().map(first).collect()));
                let arrays = match items.first() {
                    Some(Self::Quoted(_)) => vec![array("text"), array("date")],
                    Some(Self::List(_)) => vec![array("bytea")],
                    Some(Self::Plain(text)) if text == "true" || text == "false" => vec![array("bool")],
                    Some(Self::Plain(_)) => vec![array("int4"), array("int8")],
                    Some(Self::Null) => vec![array("text"), array("int8"), array("bytea")],
                    None => ["text", "int4", "int8", "bool", "bytea"].map(array).to_vec(),
                };
                bytes.into_iter().chain(arrays).collect()
            }
        }
    }

    fn bytes(items: &[Self]) -> Option<String> {
        let byte = |item: &Self| match item {
            Self::Plain(text) => text.parse::<u8>().ok(),
            _ => None,
        };
        let bytes = items.iter().map(byte).collect::<Option<Vec<u8>>>()?;
        Some(format!("'\\x{}'::bytea", hex::encode(bytes)))
    }
}

/// Reads `["a", 1, [2, 3], Some("b"), None, 2026-06-01]`.
fn parse(text: &str) -> Result<Vec<Bound>, String> {
    let mut rest = text.trim();
    match value(&mut rest)? {
        Bound::List(values) if rest.is_empty() => Ok(values),
        _ => Err(format!("{text} is no list of values")),
    }
}

fn value(rest: &mut &str) -> Result<Bound, String> {
    *rest = rest.trim_start();
    if let Some(mut inner) = rest.strip_prefix("Some(") {
        let value = value(&mut inner)?;
        *rest = inner.trim_start().strip_prefix(')').ok_or("a parenthesis is not closed")?;
        return Ok(value);
    }
    if let Some(mut inner) = rest.strip_prefix('[') {
        let mut values = Vec::new();
        loop {
            inner = inner.trim_start();
            if let Some(after) = inner.strip_prefix(']') {
                *rest = after;
                return Ok(Bound::List(values));
            }
            values.push(value(&mut inner)?);
            inner = inner.trim_start();
            inner = inner.strip_prefix(',').unwrap_or(inner);
        }
    }
    if rest.starts_with('"') {
        return quoted(rest).map(Bound::Quoted);
    }
    let end = rest.find([',', ']', ')']).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    match word.trim() {
        "" => Err("a value is missing".to_owned()),
        "None" => Ok(Bound::Null),
        word if word == "true" || word == "false" || word.parse::<i64>().is_ok() => Ok(Bound::Plain(word.to_owned())),
        word => Ok(Bound::Quoted(word.to_owned())),
    }
}

/// A debug text between its quotes.
fn quoted(rest: &mut &str) -> Result<String, String> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                *rest = &rest[at + 1..];
                return Ok(text);
            }
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('u') => {
                    let code: String = characters.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                    let code = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                    // PostgreSQL's texts hold no NUL; none is bound.
                    text.push(code.ok_or("an escaped character is none")?);
                }
                Some(other) => text.push(other),
                None => break,
            },
            other => text.push(other),
        }
    }
    Err("a text is not closed".to_owned())
}

#[test]
fn values_are_read_as_they_are_shown() {
    let shown = format!("{:?}", ("it's \"q\"\\\n\u{301}", -7, [1_u8, 255], None::<i32>, Some(["a"]), true));
    let shown = format!("[{}]", &shown[1..shown.len() - 1]);
    let bytes = Bound::List(["1", "255"].map(|n| Bound::Plain(n.to_owned())).to_vec());
    let expected = [
        Bound::Quoted("it's \"q\"\\\n\u{301}".to_owned()),
        Bound::Plain("-7".to_owned()),
        bytes,
        Bound::Null,
        Bound::List(vec![Bound::Quoted("a".to_owned())]),
        Bound::Plain("true".to_owned()),
    ];
    assert_eq!(parse(&shown), Ok(expected.to_vec()));
    assert_eq!(expected[2].literals()[0], "'\\x01ff'::bytea");
    assert_eq!(put_in("a = $2 AND b = $1", &["1".to_owned(), "'x'".to_owned()]), "a = 'x' AND b = 1");
    assert!(parse("[\"a").is_err() && parse("7").is_err() && parse("[]").unwrap().is_empty());
}
