//! A question answered: one pass over the readings, then each plan from the cells.

use std::collections::{BTreeSet, HashMap};

use chrono::{Datelike, NaiveDate};
use chrono_tz::Tz;
use rayon::prelude::*;

use super::bill::Bills;
use super::coverage::instant_text;
use super::document::Document;
use super::frame::Frame;
use super::ground::{Boundary, Ground, TooCoarse};
use super::measure::{Biller, InForce, Stop};
use super::render::{self, Billed, Edition};
use super::result::{ComparisonResult, UsageSummary};
use super::{EngineError, PlanFault, PlanToBill, Question, coverage, spot};
use crate::tariff::model::{MeasureId, Plan, PlanPlace};
use crate::tariff::{Tariff, TariffError};
use crate::words::{AttributeValue, PlanReference};

/// A plan whose versions have been put under the conventions of the question.
#[derive(Debug)]
struct Prepared<'a> {
    plan: &'a PlanToBill,
    tariffs: Vec<Tariff>,
    time_zone: Tz,
    split_evenly: bool,
}

impl Prepared<'_> {
    fn documents(&self) -> impl Iterator<Item = &Plan> {
        self.tariffs.iter().map(Tariff::plan)
    }

    /// Writes its bills down.
    fn write(&self, bills: Bills, usage: &UsageSummary) -> Result<Billed, EngineError> {
        let versions = self.plan.versions.iter().zip(self.documents());
        let editions: Vec<Edition<'_>> =
            versions.map(|(version, plan)| Edition { version: version.version, plan }).collect();
        render::plan(self.plan, &editions, bills, usage, self.split_evenly)
    }
}

/// Bills every plan of a question and ranks them.
///
/// Runs in the rayon pool of the caller, in parallel over plans; the numbers do not depend on the number of threads.
///
/// # Errors
/// [`EngineError`] names what has no bill; faults of plans are collected, not the first one reported.
pub fn compare(question: &Question) -> Result<ComparisonResult, EngineError> {
    Aggregated::new(question)?.write()
}

/// A question whose readings are added up: one pass for all its plans.
#[derive(Debug)]
pub struct Aggregated<'a> {
    question: &'a Question,
    plans: Vec<Prepared<'a>>,
    grounds: HashMap<Tz, Ground<'a>>,
    usage: UsageSummary,
    faults: Vec<PlanFault>,
}

/// The bills of a question's plans, the amounts exact numbers still.
#[derive(Debug)]
pub struct Priced(Vec<Bills>);

impl Priced {
    /// Lines of all bills.
    pub fn n_lines(&self) -> usize {
        self.0.iter().map(|bills| bills.billed.len()).sum()
    }
}

impl<'a> Aggregated<'a> {
    /// Checks the question, cuts its days and adds its readings up.
    ///
    /// # Errors
    /// [`EngineError::CurrenciesDiffer`], [`EngineError::UsageIncomplete`], [`EngineError::TooLarge`]; faults of
    /// plans wait for [`Aggregated::price`], to be told together.
    pub fn new(question: &'a Question) -> Result<Self, EngineError> {
        check_currencies(question)?;
        let mut faults: Vec<PlanFault> = Vec::new();
        let mut plans: Vec<Prepared<'_>> = Vec::with_capacity(question.plans.len());
        for plan in &question.plans {
            match prepare(question, plan) {
                Ok(plan) => plans.push(plan),
                Err(mut found) => faults.append(&mut found),
            }
        }
        let channels_read = plans.iter().flat_map(Prepared::documents).flat_map(|plan| &plan.reads);
        let covered = coverage::covered(question, &channels_read.map(|read| &read.channel).collect())?;
        let mut grounds = grounds(question, &plans);
        plans.retain_mut(|plan| {
            let ground = grounds.get_mut(&plan.time_zone).expect("every clock of a plan has its ground");
            match want(question, ground, plan) {
                Ok(()) => true,
                Err(fault) => {
                    faults.push(*fault);
                    false
                }
            }
        });
        for ground in grounds.values_mut() {
            ground.aggregate().ok_or(EngineError::TooLarge)?;
        }
        let usage = covered.summary(|channel| grounds.get(&question.time_zone)?.energy(channel))?;
        for plan in &mut plans {
            let ground = &grounds[&plan.time_zone];
            plan.split_evenly |= plan.tariffs.iter().any(|tariff| spot::was_split(ground, tariff.plan()));
        }
        Ok(Self { question, plans, grounds, usage, faults })
    }

    /// Bills every plan and writes the answer down, plan by plan: the numbers of a plan are gone when its text is there.
    ///
    /// # Errors
    /// [`EngineError::PlansNotBillable`] with the faults of all plans, [`EngineError::TooLarge`].
    pub fn write(&self) -> Result<ComparisonResult, EngineError> {
        let billed = self.each_plan(|plan, bills| plan.write(bills, &self.usage))?;
        render::ranked(self.question, self.usage.clone(), billed)
    }

    /// Bills every plan and keeps the numbers of all: what that costs apart from the text.
    ///
    /// # Errors
    /// Those of [`Aggregated::write`].
    pub fn price(&self) -> Result<Priced, EngineError> {
        self.each_plan(|_, bills| Ok(bills)).map(Priced)
    }

    /// Bills every plan and makes something of its bills.
    fn each_plan<T: Send>(
        &self,
        make: impl Fn(&Prepared<'_>, Bills) -> Result<T, EngineError> + Sync,
    ) -> Result<Vec<T>, EngineError> {
        let bill = |plan: &Prepared<'_>| {
            let bills = bill(self.question, &self.grounds[&plan.time_zone], plan)?;
            Ok(make(plan, bills))
        };
        let results: Vec<Result<_, BillFault>> = self.plans.par_iter().map(bill).collect();
        let mut answers = Vec::with_capacity(results.len());
        let mut faults = self.faults.clone();
        for result in results {
            match result {
                Ok(result) => answers.push(result),
                Err(BillFault::Plan(fault)) => faults.push(*fault),
                Err(BillFault::TooLarge) => return Err(EngineError::TooLarge),
            }
        }
        if !faults.is_empty() {
            faults.sort_by(|a, b| a.plan_id.cmp(&b.plan_id));
            return Err(EngineError::PlansNotBillable(faults));
        }
        answers.into_iter().collect()
    }
}

fn check_currencies(question: &Question) -> Result<(), EngineError> {
    let mut all = question.plans.iter().flat_map(|plan| &plan.versions).map(|version| version.tariff.currency());
    let first = all.next();
    if all.all(|currency| Some(currency) == first) {
        return Ok(());
    }
    let currencies: Vec<(PlanReference, String)> = question
        .plans
        .iter()
        .flat_map(|plan| {
            let of: BTreeSet<&str> = plan.versions.iter().map(|version| version.tariff.currency()).collect();
            of.into_iter().map(|currency| (plan.reference.clone(), currency.to_owned()))
        })
        .collect();
    if currencies.windows(2).any(|pair| pair[0].1 != pair[1].1) {
        return Err(EngineError::CurrenciesDiffer(currencies));
    }
    Ok(())
}

fn prepare<'a>(question: &Question, plan: &'a PlanToBill) -> Result<Prepared<'a>, Vec<PlanFault>> {
    let mut tariffs = Vec::with_capacity(plan.versions.len());
    for version in &plan.versions {
        let tariff = match version.tariff.not_included() {
            Some(errors) => Err(errors.clone()),
            None => version.tariff.under(&question.options.conventions),
        };
        match tariff {
            Ok(tariff) => tariffs.push(tariff.with_events(&question.event_lists)),
            Err(errors) => {
                let fault = |error: TariffError| PlanFault {
                    plan_id: plan.reference.clone(),
                    code: error.code,
                    pointer: error.pointer,
                    message: error.message,
                };
                return Err(errors.0.into_iter().map(fault).collect());
            }
        }
    }
    let mut missing = missing_calendars(question, plan, &tariffs);
    missing.extend(missing_series(question, plan, &tariffs));
    missing.extend(missing_event_lists(question, plan, &tariffs));
    if !missing.is_empty() {
        return Err(missing);
    }
    let clock = |zone: Option<Tz>| zone.unwrap_or(question.time_zone);
    let time_zone = clock(tariffs.first().and_then(|tariff| tariff.plan().time_zone));
    let sources = || tariffs.iter().flat_map(|tariff| &tariff.plan().sources).map(|source| clock(source.time_zone));
    if sources().any(|zone| zone != time_zone) {
        let zones: BTreeSet<&str> = sources().map(Tz::name).collect();
        let zones: Vec<&str> = zones.into_iter().collect();
        let what = "versions of this plan, or plans that it includes,";
        return Err(vec![PlanFault {
            plan_id: plan.reference.clone(),
            code: "time_zones_differ".to_owned(),
            pointer: "/time_zone".to_owned(),
            message: format!("{what} run on different clocks: {}", zones.join(", ")),
        }]);
    }
    Ok(Prepared { plan, tariffs, time_zone, split_evenly: false })
}

/// Calendars that a plan names and nobody has imported.
fn missing_calendars(question: &Question, plan: &PlanToBill, tariffs: &[Tariff]) -> Vec<PlanFault> {
    let mut faults: Vec<PlanFault> = Vec::new();
    for document in tariffs.iter().map(Tariff::plan) {
        for (index, schedule) in document.schedules.iter().enumerate() {
            for (i, calendar) in schedule.holidays.iter().enumerate() {
                if !question.calendars.contains_key(calendar) {
                    let place = document.place_of_schedule(index).member(&format!("holidays/{i}"));
                    faults.push(PlanFault {
                        plan_id: plan.reference.clone(),
                        code: "calendar_missing".to_owned(),
                        message: place.tell(&format!("the calendar {calendar:?} is not known: import it")),
                        pointer: place.pointer,
                    });
                }
            }
        }
    }
    faults.dedup();
    faults
}

/// Price series that a plan names and nobody has imported, each at the first charge that names it.
fn missing_series(question: &Question, plan: &PlanToBill, tariffs: &[Tariff]) -> Vec<PlanFault> {
    let mut faults: Vec<PlanFault> = Vec::new();
    for tariff in tariffs {
        let names = tariff.price_series().iter().filter(|name| !question.price_series.contains_key(*name));
        faults.extend(names.map(|name| {
            let message = format!("the price series {name:?} is not known: import its prices");
            let place = tariff.plan().charge_by_series(name).map(|charge| tariff.plan().place_of_charge(charge));
            PlanFault {
                plan_id: plan.reference.clone(),
                code: "price_series_missing".to_owned(),
                message: place.as_ref().map_or(message.clone(), |place| place.tell(&message)),
                pointer: place.map_or(String::new(), |place| place.pointer),
            }
        }));
    }
    faults.dedup();
    faults
}

/// Event lists that a plan names and nobody has imported.
fn missing_event_lists(question: &Question, plan: &PlanToBill, tariffs: &[Tariff]) -> Vec<PlanFault> {
    let mut faults: Vec<PlanFault> = Vec::new();
    for document in tariffs.iter().map(Tariff::plan) {
        for (index, schedule) in document.schedules.iter().enumerate() {
            let missing = schedule.event_lists().filter(|(_, list)| !question.event_lists.contains_key(*list));
            faults.extend(missing.map(|(rule, list)| {
                let place = document.place_of_schedule(index).member(&format!("periods/{rule}/during"));
                PlanFault {
                    plan_id: plan.reference.clone(),
                    code: "event_list_missing".to_owned(),
                    message: place.tell(&format!("the event list {list:?} is not known: import it")),
                    pointer: place.pointer,
                }
            }));
        }
    }
    faults.dedup();
    faults
}

/// One ground for each clock, its days cut wherever a plan changes.
fn grounds<'a>(question: &'a Question, prepared: &[Prepared<'_>]) -> HashMap<Tz, Ground<'a>> {
    let mut by_clock: HashMap<Tz, Vec<&Prepared<'_>>> = HashMap::new();
    for plan in prepared {
        by_clock.entry(plan.time_zone).or_default().push(plan);
    }
    by_clock
        .into_iter()
        .map(|(time_zone, plans)| {
            let mut cuts: BTreeSet<NaiveDate> = BTreeSet::new();
            for plan in &plans {
                cuts.extend(plan.plan.versions.iter().map(|version| version.days.start()));
                for document in plan.documents() {
                    add_cuts(question, document, &mut cuts);
                }
            }
            let schedules: Vec<_> =
                plans.iter().flat_map(|plan| plan.documents()).flat_map(|plan| &plan.schedules).collect();
            let frame = Frame::new(question, time_zone, &cuts, &schedules);
            (time_zone, Ground::new(frame, question))
        })
        .collect()
}

/// Adds the dates on which something of a plan changes.
fn add_cuts(question: &Question, plan: &Plan, cuts: &mut BTreeSet<NaiveDate>) {
    for charge in &plan.charges {
        cuts.extend(&charge.term_cuts);
        cuts.extend(&charge.value_cuts);
        if charge.cut_by_year {
            let years = question.period.start().year()..=question.period.end().year();
            cuts.extend(years.filter_map(|year| NaiveDate::from_ymd_opt(year, 1, 1)));
        }
    }
    for name in &plan.attributes {
        if let Some(AttributeValue::ByDate { by_date }) = question.attributes.get(name) {
            cuts.extend(by_date.keys().filter_map(|from| crate::words::dated(from)));
        }
    }
}

/// Notes what a plan reads, or the boundary that cuts its readings.
fn want(question: &Question, ground: &mut Ground<'_>, prepared: &mut Prepared<'_>) -> Result<(), Box<PlanFault>> {
    for tariff in &prepared.tariffs {
        let plan = tariff.plan();
        let cut = ground.want(plan, question.options.split_intervals_even).map_err(|coarse| {
            let (place, why) = place_of(plan, &coarse);
            Box::new(PlanFault {
                plan_id: prepared.plan.reference.clone(),
                code: "interval_too_coarse".to_owned(),
                message: place.tell(&format!("readings of {} minutes {why}", coarse.seconds / 60)),
                pointer: place.pointer,
            })
        })?;
        prepared.split_evenly |= cut;
    }
    Ok(())
}

/// Where a plan asks for shorter readings, and why.
fn place_of(plan: &Plan, coarse: &TooCoarse<'_>) -> (PlanPlace, String) {
    let of_charge = || {
        let reads = |id: &MeasureId| plan.measures[*id].reads().contains(coarse.read);
        let charge = plan.charges.iter().position(|charge| plan.measures_of(charge).iter().any(reads));
        plan.place_of_charge(charge.unwrap_or(0))
    };
    let boundary = match coarse.boundary {
        None => {
            let why = "have no demand: it is the highest reading of an hour or an even part of one".to_owned();
            return (of_charge(), why);
        }
        Some(Boundary::Minute(0)) => "midnight of the plan's clock".to_owned(),
        Some(Boundary::Minute(minute)) => format!("the boundary {:02}:{:02}", minute / 60, minute % 60),
        Some(Boundary::Instant(instant)) => format!("the instant {}", instant_text(instant)),
    };
    match coarse.read.schedule {
        Some(schedule) if coarse.boundary != Some(Boundary::Minute(0)) => {
            let why = format!("are cut in two by {boundary} of this schedule");
            (plan.place_of_schedule(schedule), why)
        }
        _ => (of_charge(), format!("are cut in two by {boundary}")),
    }
}

enum BillFault {
    Plan(Box<PlanFault>),
    TooLarge,
}

fn bill(question: &Question, ground: &Ground<'_>, prepared: &Prepared<'_>) -> Result<Bills, BillFault> {
    let documents: Vec<Document<'_>> = prepared.documents().map(|plan| Document::new(ground, question, plan)).collect();
    let in_force = InForce::new(ground, prepared.plan);
    Biller::new(ground, question, &documents, &in_force).bills().map_err(|stop| match stop {
        Stop::TooLarge => BillFault::TooLarge,
        Stop::Fault(fault) => BillFault::Plan(Box::new(PlanFault {
            plan_id: prepared.plan.reference.clone(),
            code: fault.code.to_owned(),
            pointer: fault.pointer.unwrap_or_default(),
            message: fault.message,
        })),
    })
}
