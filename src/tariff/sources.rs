//! The documents that a plan is read from: its own, and those of the plans it includes.

use chrono_tz::Tz;

use super::conventions::ConventionOverrides;
use super::model::{Plan, Rounding};
use crate::words::PlanId;

/// A plan that a document includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Include {
    /// What the document calls it: the group of its charges, and what their ids begin with.
    pub(crate) name: String,
    pub(crate) plan_id: PlanId,
}

/// One of the documents of a plan, with what it decides for its own charges only.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// `None` for the plan's own document.
    pub(crate) included: Option<IncludedVersion>,
    pub(crate) first_charge: usize,
    pub(crate) first_schedule: usize,
    pub(crate) time_zone: Option<Tz>,
    pub(crate) conventions: ConventionOverrides,
    /// The rounding of its charges that say nothing.
    pub(crate) lines: Option<Rounding>,
}

/// Where an included document comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IncludedVersion {
    /// JSON pointer into the plan's own document.
    pub(crate) pointer: String,
    pub(crate) plan_id: PlanId,
    pub(crate) version: u32,
}

/// A place in a plan, for people to look it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanPlace {
    /// JSON pointer into the plan's own document.
    pub(crate) pointer: String,
    /// For a place in an included plan: which plan, and where in its document.
    pub(crate) within: Option<String>,
}

impl Plan {
    /// Where a charge stands.
    pub(crate) fn place_of_charge(&self, index: usize) -> PlanPlace {
        let source = &self.sources[self.charges[index].source];
        let pointer = match index.checked_sub(source.first_charge) {
            Some(index) => format!("/charges/{index}"),
            // It stands for an included plan that is not known.
            None => format!("/include/{}", self.charges[index].id),
        };
        source.place(pointer)
    }

    /// Where a schedule stands.
    pub(crate) fn place_of_schedule(&self, index: usize) -> PlanPlace {
        let source = self.sources.iter().rfind(|source| source.first_schedule <= index).expect("the first begins at 0");
        source.place(format!("/schedules/{}", self.schedules[index].name))
    }
}

impl Source {
    /// A place in the plan, from one in this document.
    fn place(&self, pointer: String) -> PlanPlace {
        match &self.included {
            None => PlanPlace { pointer, within: None },
            Some(included) => PlanPlace {
                pointer: included.pointer.clone(),
                within: Some(format!("in the included plan {:?} at {pointer}", included.plan_id.as_str())),
            },
        }
    }
}

impl PlanPlace {
    /// A member of what stands there.
    pub(crate) fn member(self, member: &str) -> Self {
        match self.within {
            None => Self { pointer: format!("{}/{member}", self.pointer), within: None },
            Some(within) => Self { pointer: self.pointer, within: Some(format!("{within}/{member}")) },
        }
    }

    /// A message that tells the place where the pointer cannot.
    pub(crate) fn tell(&self, message: &str) -> String {
        self.within.as_ref().map_or_else(|| message.to_owned(), |within| format!("{within}: {message}"))
    }
}
