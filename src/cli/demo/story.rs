//! The story, told through the API like any other client would.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::data::{CHICAGO, CORRECTION, DemoPlan, Home, LONDON, PLANS, UK_PLAN};
use crate::cli::bill::{plans_sheet, usage_line};
use crate::cli::client::{Client, Reply};
use crate::cli::output::{print_line, rounded};
use crate::cli::{CliError, Format, Report, Sheet, diff, history};
use crate::engine::ComparisonResult;

/// Callers who ask the same question in the same instant.
const N_CALLERS: usize = 16;

/// Everything that was said, and the numbers for programs.
pub(super) struct Story<'a> {
    client: &'a Client,
    format: Format,
    numbers: Map<String, Value>,
    totals: Sheet,
    n_steps: u32,
}

/// What the story needs of an answer.
#[derive(Debug, Clone, Deserialize)]
struct Answer {
    id: String,
    created_at: String,
    freshness: Value,
    result: Box<RawValue>,
    #[serde(skip)]
    status: u16,
    #[serde(skip)]
    is_replayed: bool,
}

impl Answer {
    fn of(reply: &Reply) -> Result<Self, CliError> {
        let answer: Self = serde_json::from_str(&reply.body).map_err(|e| CliError::new("bad_answer", e))?;
        Ok(Self { status: reply.status, is_replayed: reply.is_replayed, ..answer })
    }

    /// SHA-256 of the bytes of `result`.
    fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.result.get()))
    }

    fn short_digest(&self) -> String {
        self.digest()[..16].to_owned()
    }

    fn result(&self) -> Result<ComparisonResult, CliError> {
        serde_json::from_str(self.result.get()).map_err(|e| CliError::new("bad_answer", e))
    }
}

impl<'a> Story<'a> {
    pub(super) fn new(client: &'a Client, format: Format) -> Self {
        let totals = Sheet::new(["question", "plan_id", "total", "rank", "difference_from_cheapest"]);
        Self { client, format, numbers: Map::new(), totals, n_steps: 0 }
    }

    /// All of it. At the end the numbers are printed for programs.
    pub(super) fn tell(mut self) -> Result<(), CliError> {
        self.import()?;
        let july = self.first_answer()?;
        self.ask_again(&july)?;
        self.ask_at_once()?;
        self.correct(&july)?;
        let corrected = self.supersede(&july)?;
        self.look_back(&july, &corrected)?;
        self.long_day()?;
        match self.format {
            Format::Table => Ok(()),
            format => {
                let json = Value::Object(self.numbers).to_string();
                Report { json, text: String::new(), sheet: self.totals }.print(format)
            }
        }
    }

    fn import(&mut self) -> Result<(), CliError> {
        self.step("Two homes, a year of readings each, and five published tariffs are imported.")?;
        let mut sheet = Sheet::new(["customer", "what", "time zone", "readings", "kWh"]);
        for home in [CHICAGO, LONDON] {
            let added = self.import_home(&home)?;
            let kwh = total_kwh(&home)?;
            sheet.row([home.id, home.what, home.time_zone, &added.to_string(), &kwh]);
            self.numbers.insert(format!("{}_readings", home.id), json!({"added": added, "kwh": kwh}));
        }
        self.show(&sheet)?;
        self.say(" ")?;
        let mut sheet = Sheet::new(["plan", "name", "what"]);
        for (id, what, document) in PLANS.into_iter().chain([UK_PLAN]) {
            self.client.put(&format!("/v1/plans/{id}"), "application/json", document)?;
            let document: Value = serde_json::from_str(document).map_err(|e| CliError::new("bad_plan", e))?;
            sheet.row([id, document["name"].as_str().unwrap_or(""), what]);
        }
        self.show(&sheet)
    }

    fn import_home(&self, home: &Home) -> Result<u64, CliError> {
        let customer = json!({"name": home.what, "time_zone": home.time_zone}).to_string();
        self.client.put(&format!("/v1/customers/{}", home.id), "application/json", &customer)?;
        let path = format!("/v1/customers/{}/usage?file_name={}", home.id, home.file_name);
        let reply = self.client.upload(&path, "text/csv", || Ok(home.readings.as_bytes()))?.json()?;
        Ok(reply["added"].as_u64().unwrap_or(0))
    }

    fn first_answer(&mut self) -> Result<Answer, CliError> {
        self.step("What would the home in Chicago have paid in July 2017 under each plan?")?;
        let july = self.compare(CHICAGO.id, "2017-07", &plan_ids())?;
        self.show_bills("july", &july)?;
        self.say(&format!("comparison {}, SHA-256 of its result {}…", july.id, july.short_digest()))?;
        Ok(july)
    }

    fn ask_again(&mut self, july: &Answer) -> Result<(), CliError> {
        self.step("The same question again, with the plans in another order and one of them twice.")?;
        let shuffled = ["georgia-power-r", "psco-rd", "fpl-rs-1", "psco-rd", "srp-e-26"];
        let again = self.compare(CHICAGO.id, "2017-07", &shuffled)?;
        let same = again.id == july.id && again.result.get() == july.result.get();
        self.say(&format!(
            "comparison {}, SHA-256 of its result {}…:\n{}, nothing was computed or stored.",
            again.id,
            again.short_digest(),
            if same && again.is_replayed { "the same answer, byte for byte" } else { "ANOTHER ANSWER" },
        ))?;
        self.numbers.insert("again".to_owned(), json!({"same": same, "status": again.status}));
        check(same, "the same question got another answer")
    }

    fn ask_at_once(&mut self) -> Result<(), CliError> {
        self.step(&format!(
            "{N_CALLERS} callers ask for the whole year in the same instant, each with another order."
        ))?;
        let barrier = Barrier::new(N_CALLERS);
        let ask = |i: usize| -> Result<Answer, CliError> {
            let client = Client::of_server(self.client.base_url())?;
            let mut plans = PLANS.map(|plan| plan.0);
            plans.rotate_left(i % PLANS.len());
            barrier.wait();
            compare(&client, CHICAGO.id, "2017", &plans)
        };
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..N_CALLERS).map(|i| scope.spawn(move || ask(i))).collect();
            callers
                .into_iter()
                .map(|caller| caller.join().unwrap_or_else(|_| Err(CliError::new("failed", "a caller stopped"))))
                .collect::<Result<_, _>>()
        })?;
        let ids: BTreeSet<&str> = answers.iter().map(|answer| answer.id.as_str()).collect();
        let digests: BTreeSet<String> = answers.iter().map(Answer::digest).collect();
        let n_created = answers.iter().filter(|answer| answer.status == 201).count();
        self.show_bills("year", &answers[0])?;
        self.say(&format!(
            "{n_created} of them was told 201 Created, {} were told 200 OK; {} comparison was stored, {} result exists.",
            N_CALLERS - n_created,
            ids.len(),
            digests.len()
        ))?;
        self.numbers.insert(
            "at_once".to_owned(),
            json!({"callers": N_CALLERS, "created": n_created, "ids": ids.len(), "results": digests.len()}),
        );
        check(ids.len() == 1 && digests.len() == 1 && n_created <= 1, "the callers did not get one answer")
    }

    fn correct(&mut self, july: &Answer) -> Result<(), CliError> {
        self.step("The meter operator corrects the six hours of July above 10 kWh: 1.5 kWh each.")?;
        let path = format!("/v1/customers/{}/usage?file_name=correction.json", CHICAGO.id);
        let outcome = self.client.upload(&path, "application/json", || Ok(CORRECTION.as_bytes()))?.json()?;
        let n_stale = outcome["stale_comparison_ids"].as_array().map_or(0, Vec::len);
        self.say(&format!(
            "{} readings replaced, usage revision {} to {}, {n_stale} comparisons marked stale.",
            outcome["replaced"], outcome["revision_before"], outcome["revision_after"]
        ))?;
        let again = self.client.upload(&path, "application/json", || Ok(CORRECTION.as_bytes()))?.json()?;
        self.say(&format!(
            "The same file once more: {} replaced, revision {}: an import that changes nothing changes nothing.",
            again["replaced"], again["revision_after"]
        ))?;
        let stale = self.compare(CHICAGO.id, "2017-07", &plan_ids())?;
        self.say(&format!(
            "Asked again, July is still answered by {},\nresult {}…, which now says that it is {}: a retry must not see another\n\
             amount. A new answer is made only when somebody asks for it:",
            stale.id,
            stale.short_digest(),
            stale.freshness["state"].as_str().unwrap_or("?"),
        ))?;
        self.numbers.insert(
            "correction".to_owned(),
            json!({
                "replaced": outcome["replaced"], "made_stale": n_stale, "replaced_by_the_same_file": again["replaced"],
                "state": stale.freshness["state"], "same_result": stale.result.get() == july.result.get(),
            }),
        );
        check(stale.id == july.id && stale.result.get() == july.result.get(), "the stale answer is another one")
    }

    fn supersede(&mut self, july: &Answer) -> Result<Answer, CliError> {
        self.step("July is superseded: the old answer is kept, the new one takes its place.")?;
        let path = format!("/v1/comparisons/{}/supersede", july.id);
        let body = json!({"reason": "usage_corrected", "note": "six hours read again"});
        let corrected = Answer::of(&self.client.post(&path, &body)?)?;
        self.show_bills("july_corrected", &corrected)?;
        let retry = Answer::of(&self.client.post(&path, &body)?)?;
        let same = retry.id == corrected.id && retry.result.get() == corrected.result.get();
        self.say(&format!(
            "comparison {};\nthe same call sent twice gives {}.",
            corrected.id,
            if same { "the same successor" } else { "ANOTHER ONE" }
        ))?;
        self.numbers.insert("retry_of_supersede".to_owned(), json!({"same": same, "status": retry.status}));
        check(same && corrected.id != july.id, "the retry of supersede made another answer")?;
        Ok(corrected)
    }

    fn look_back(&mut self, july: &Answer, corrected: &Answer) -> Result<(), CliError> {
        self.step("Its history, what stood before, and why the amounts differ.")?;
        let chain = self.client.get(&format!("/v1/comparisons/{}/history", corrected.id))?.json()?;
        let chain = chain["items"].as_array().cloned().unwrap_or_default();
        self.say_block(&history::report(&chain).text)?;
        let at =
            format!("/v1/comparisons/as-of?customer_id={}&billing_period=2017-07&at={}", CHICAGO.id, july.created_at);
        let stood = self.client.get(&at)?.json()?;
        let stood = stood["items"][0]["id"].as_str().unwrap_or("").to_owned();
        self.say(&format!("As of {} the answer was {stood}.", july.created_at))?;
        let difference = self.client.get(&format!("/v1/comparisons/{}/diff", corrected.id))?.json()?;
        self.say_block(&diff::text(&difference))?;
        self.numbers.insert("history".to_owned(), json!({"length": chain.len(), "as_of_is_first": stood == july.id}));
        self.numbers.insert("diff".to_owned(), plan_differences(&difference));
        check(stood == july.id && chain.len() == 2, "the history is not that of two answers")
    }

    fn long_day(&mut self) -> Result<(), CliError> {
        self.step("In October 2013 London set its clocks back: 31 days, one of 25 hours, 1,490 half hours.")?;
        let october = self.compare(LONDON.id, "2013-10", &[UK_PLAN.0])?;
        self.show_bills("london_october", &october)
    }

    fn compare(&self, customer: &str, period: &str, plans: &[&str]) -> Result<Answer, CliError> {
        compare(self.client, customer, period, plans)
    }

    /// Bills as a table, and their numbers for programs.
    fn show_bills(&mut self, question: &str, answer: &Answer) -> Result<(), CliError> {
        let result = answer.result()?;
        self.say(&usage_line(&result))?;
        self.show(&plans_sheet(&result))?;
        for plan in &result.plans {
            let difference = plan.difference_from_cheapest.clone().unwrap_or_default();
            let rank = plan.rank.map_or_else(String::new, |rank| rank.to_string());
            self.totals.row([question.to_owned(), plan.plan_id.clone(), plan.total.clone(), rank, difference]);
        }
        let result: Value = serde_json::from_str(answer.result.get()).map_err(|e| CliError::new("bad_answer", e))?;
        self.numbers.insert(question.to_owned(), json!({"id": answer.id, "digest": answer.digest(), "result": result}));
        Ok(())
    }

    fn step(&mut self, what: &str) -> Result<(), CliError> {
        self.n_steps += 1;
        let text = format!("\n{}. {what}", self.n_steps);
        if self.format == Format::Table { print_line(&text) } else { Ok(()) }
    }

    fn say(&self, text: &str) -> Result<(), CliError> {
        self.say_block(text)
    }

    fn show(&self, sheet: &Sheet) -> Result<(), CliError> {
        self.say_block(&sheet.table())
    }

    /// Indented under its step.
    fn say_block(&self, text: &str) -> Result<(), CliError> {
        if self.format != Format::Table {
            return Ok(());
        }
        let indented: Vec<String> =
            text.trim_end_matches('\n').lines().map(|line| format!("   {line}").trim_end().to_owned()).collect();
        print_line(&indented.join("\n"))
    }
}

fn compare(client: &Client, customer: &str, period: &str, plans: &[&str]) -> Result<Answer, CliError> {
    let question = json!({"customer_id": customer, "billing_period": period, "plan_ids": plans});
    Answer::of(&client.post("/v1/comparisons", &question)?)
}

/// A promise that the demo shows: if it does not hold, the demo fails.
fn check(holds: bool, otherwise: &str) -> Result<(), CliError> {
    if holds { Ok(()) } else { Err(CliError::new("promise_broken", otherwise)) }
}

fn total_kwh(home: &Home) -> Result<String, CliError> {
    let usage = crate::usage::read(std::io::Cursor::new(home.readings), &crate::usage::ReadOptions::default())
        .map_err(|e| CliError::new("bad_fixture", e))?;
    let sum: i64 =
        usage.readings.values().flat_map(crate::usage::Readings::iter).map(|reading| reading.milliwatt_hours).sum();
    Ok(rounded(&rust_decimal::Decimal::new(sum, 6).to_string(), 3))
}

/// Totals before and after, and what the difference comes from.
fn plan_differences(difference: &Value) -> Value {
    let plans = difference["plans"].as_array().into_iter().flatten();
    plans
        .map(|plan| {
            let members = ["plan_id", "total_before", "total_after", "difference", "split"];
            Value::Object(members.iter().map(|name| ((*name).to_owned(), plan[*name].clone())).collect())
        })
        .collect()
}

/// The plans of the dollar questions, for those who go on by hand.
pub(super) fn plan_ids() -> [&'static str; 4] {
    PLANS.map(|plan: DemoPlan| plan.0)
}
