//! The words every room shares: ids, instants, billing periods, the customer.
//!
//! Plain checked values. Nothing here reads a clock, a database or a network; each constructor refuses what
//! the contract refuses, so that a value that exists is a value that is right.

mod customer;
mod ids;
mod instants;
mod period;
mod timestamp;

pub use customer::{AttributeValue, AttributeWord, CustomerDocument, DatedValue, MeterPoint};
pub use ids::{ComparisonId, CustomerId, IdError, ImportId, InputName, PeriodId, PlanId, PlanReference, TenantId};
pub use instants::{Instants, MAX_INTERVALS, NotAnInterval, interval, interval_text};
pub(crate) use period::dated;
pub use period::{BillingPeriod, MAX_PERIOD_DAYS, PeriodError, RegisteredPeriod};
pub use timestamp::Timestamp;
