//! One number for everything that the numbers of a comparison depend on.

use sha2::{Digest as _, Sha256};

use crate::engine::{ENGINE_VERSION, Question};
use crate::tariff::{IncludedTariff, Tariff};
use crate::words::BillingPeriod;

/// SHA-256 over the contents that decide the numbers: readings of the window, attributes that the plans use,
/// canonical documents with version and days, engine, time zone, cuts, options, and what the question uses of
/// calendars, price series and event lists. Every part is length-prefixed.
///
/// Counters (usage revision, customer version) are not in it: a correction outside the window, or one taken back,
/// leaves it as it is.
pub(super) fn digest(question: &Question) -> [u8; 32] {
    digest_by(question, ENGINE_VERSION)
}

/// The digest that an engine of another version recorded for the same contents.
pub(super) fn digest_by(question: &Question, engine: i32) -> [u8; 32] {
    let mut parts = Parts(Sha256::new());
    parts.text("samebill-inputs-1");
    parts.number(i64::from(engine));
    parts.text(question.time_zone.name());
    parts.days(std::slice::from_ref(&question.period));
    parts.days(&question.months);
    parts.number(i64::from(question.months_registered));
    parts.days(&question.earlier_months);
    parts.text(&question.options.min_coverage.normalize().to_string());
    parts.number(i64::from(question.options.split_intervals_even));
    parts.json(&question.options.conventions);
    parts.json(&question.attributes);
    parts.count(question.plans.len());
    for plan in &question.plans {
        parts.text(plan.reference.as_str());
        parts.count(plan.versions.len());
        for version in &plan.versions {
            parts.number(i64::from(version.version));
            parts.days(std::slice::from_ref(&version.days));
            parts.tariff(&version.tariff);
        }
    }
    parts.count(question.readings.values().filter(|series| !series.is_empty()).count());
    for (channel, series) in question.readings.iter().filter(|(_, series)| !series.is_empty()) {
        parts.text(channel.as_str());
        parts.count(series.n_readings());
        for reading in series.readings() {
            parts.number(reading.start);
            parts.number(i64::from(reading.seconds));
            parts.number(reading.milliwatt_hours);
            parts.number(reading.quality as i64);
        }
    }
    // Only where there are any: questions without them keep the digest of earlier releases.
    if !question.calendars.is_empty() {
        parts.text("calendars");
        parts.json(&question.calendars);
    }
    if !question.price_series.is_empty() {
        parts.text("price series");
        parts.count(question.price_series.len());
        for (id, series) in &question.price_series {
            parts.text(id);
            parts.number(i64::from(series.scale()));
            parts.count(series.n_prices());
            for price in series.prices() {
                parts.number(price.start);
                parts.number(i64::from(price.seconds));
                parts.number(price.digits);
            }
        }
    }
    if !question.event_lists.is_empty() {
        parts.text("event lists");
        parts.count(question.event_lists.len());
        for (id, instants) in &question.event_lists {
            parts.text(id);
            parts.count(instants.stretches().len());
            for stretch in instants.stretches() {
                parts.number(stretch.start);
                parts.number(stretch.end);
            }
        }
    }
    parts.0.finalize().into()
}

struct Parts(Sha256);

impl Parts {
    fn number(&mut self, number: i64) {
        self.0.update(number.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.number(i64::try_from(count).expect("a count fits 63 bits"));
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    /// A document, and those it includes.
    fn tariff(&mut self, tariff: &Tariff) {
        self.text(tariff.canonical_json());
        // Only where there are any: questions without them keep the digest of earlier releases.
        if !tariff.included().is_empty() {
            self.text("included");
            self.count(tariff.included().len());
        }
        for IncludedTariff { name, plan_id, version, tariff } in tariff.included() {
            self.text(name);
            self.text(plan_id.as_str());
            self.number(i64::from(*version));
            self.tariff(tariff);
        }
    }

    fn json(&mut self, value: &impl serde::Serialize) {
        self.text(&serde_json::to_string(value).expect("plain values can be written"));
    }

    fn days(&mut self, days: &[BillingPeriod]) {
        self.count(days.len());
        for period in days {
            self.text(&format!("{}/{}", period.start(), period.end()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use super::*;
    use crate::engine::{Options, PlanToBill, VersionInForce};
    use crate::shared;
    use crate::words::Instants;

    fn plain_question() -> Question {
        let june = BillingPeriod::from_year_or_month("2026-06").unwrap().unwrap();
        Question {
            time_zone: chrono_tz::UTC,
            period: june,
            months: vec![june],
            months_registered: false,
            earlier_months: Vec::new(),
            readings: BTreeMap::new(),
            attributes: BTreeMap::new(),
            calendars: BTreeMap::new(),
            price_series: BTreeMap::new(),
            event_lists: BTreeMap::new(),
            plans: Vec::new(),
            options: Options::default(),
        }
    }

    #[test]
    fn the_digest_covers_calendars_price_series_and_event_lists_where_there_are_any() {
        let plain = plain_question();
        // As an earlier release, which knew none of them, wrote it.
        let earlier = "a6380e6adc1384fff2ffa20dbf008492bf5940ae1ac15bcc68af15053d547018";
        assert_eq!(hex::encode(digest(&plain)), earlier);
        let dates = |dates: &[&str]| dates.iter().map(|date| date.parse().unwrap()).collect();
        let with = |dates| Question { calendars: [("us".to_owned(), dates)].into(), ..plain_question() };
        let prices = |text: &str| {
            let series = shared::read_prices(text, Some(60)).unwrap();
            Question { price_series: [("us".to_owned(), series.into())].into(), ..plain_question() }
        };
        let events = |id: &str, stretches: &[(i64, i64)]| {
            let instants = Instants::new(stretches.iter().map(|(start, end)| *start..*end).collect());
            Question { event_lists: [(id.to_owned(), instants)].into(), ..plain_question() }
        };
        let questions = [
            plain,
            with(dates(&[])),
            with(dates(&["2026-06-01"])),
            with(dates(&["2026-06-02"])),
            prices("start,price\n"),
            prices("start,price\n2026-06-01T00:00:00Z,1\n"),
            prices("start,price\n2026-06-01T00:00:00Z,0.1\n"),
            prices("start,price\n2026-06-01T01:00:00Z,1\n"),
            events("us", &[]),
            events("us", &[(0, 60)]),
            events("us", &[(0, 120)]),
            events("uk", &[(0, 60)]),
            events("us", &[(0, 60), (120, 180)]),
        ];
        let digests: BTreeSet<[u8; 32]> = questions.iter().map(digest).collect();
        assert_eq!(digests.len(), questions.len());
        let respelled = prices("start,price\n2026-06-01T02:00:00+02:00,1.000\n");
        assert_eq!(digest(&respelled), digest(&questions[5]));
    }

    #[test]
    fn the_digest_covers_the_documents_of_included_plans() {
        let read = |json: &str| Arc::new(Tariff::from_json(json).unwrap());
        let supply = read(r#"{"name": "s", "currency": "GBP", "include": {"network": "net"}}"#);
        let network = |price: &str| {
            read(&format!(
                r#"{{"name": "n", "currency": "GBP", "charges": [{{"id": "a", "kind": "fixed", "price": "{price}"}}]}}"#
            ))
        };
        let of = |plan: &str, version: u32, price: &str| {
            let (name, tariff) = ("network".to_owned(), network(price));
            let included = vec![IncludedTariff { name, plan_id: plan.parse().unwrap(), version, tariff }];
            let tariff =
                if plan == "net" { Arc::new(supply.including(included).unwrap()) } else { Arc::clone(&supply) };
            let days = plain_question().period;
            let version = VersionInForce { version: 1, days, tariff };
            let plan = PlanToBill { reference: "supply".parse().unwrap(), versions: vec![version] };
            digest(&Question { plans: vec![plan], ..plain_question() })
        };
        let digests = [of("net", 1, "1"), of("net", 1, "2"), of("net", 2, "1"), of("none", 1, "1")];
        assert_eq!(digests.iter().collect::<BTreeSet<_>>().len(), digests.len());
        assert_eq!(of("net", 1, "1"), digests[0]);
    }
}
