//! Samebill: what would this customer have paid in this billing period under each of these plans? The same
//! question always gets the same numbers.
//!
//! Data flows one way, `http → comparison → engine + store`, and this is the order to read in:
//!
//! | room | holds | never |
//! | --- | --- | --- |
//! | [`words`] | ids, instants, billing periods, the customer | a clock of its own, I/O |
//! | [`usage`] | the model of readings, the readers of files, merge, stored block | tariffs, money |
//! | [`shared`] | calendars, price series, event lists: files, merge, stored bytes | tariffs, store |
//! | [`tariff`] | the plan document, checked when built; adapters of foreign tariffs | readings, bills |
//! | [`engine`] | readings and tariffs in, line items out; exact and pure | store, http, tokio |
//! | [`store`] | the only place with SQL: SQLite and PostgreSQL behind one trait | money |
//! | [`comparison`] | the service: key, compare, supersede, history, freshness | actix, diesel |
//! | [`http`] | the only place that knows actix and status codes | diesel |
//! | [`cli`] | one file a subcommand | |
//! | [`config`], [`app`] | every setting; the parts put together | |
//!
//! Invariants: a row struct does not leave `store`; the numbers do not depend on threads, server or database;
//! `result` bytes are written once and never re-serialised.

#![forbid(unsafe_code)]

pub mod app;
pub mod cli;
pub mod comparison;
pub mod config;
pub mod engine;
pub mod http;
pub mod shared;
pub mod store;
pub mod tariff;
pub mod usage;
pub mod words;
