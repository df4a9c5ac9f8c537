//! The behaviour of the store, the same on SQLite, PostgreSQL and PostgreSQL partitioned by tenant, and
//! what is particular to each.

mod comparisons;
mod database;
mod imports;
mod meter_points;
mod migrations;
mod resources;
mod servers;
mod shared;
mod statements;
mod superseding;
mod undo;

/// Declares each behaviour once and runs it on both engines, each time on a fresh database.
macro_rules! on_both_engines {
    ($($(#[$doc:meta])* fn $name:ident($db:ident: &Db) $body:block)*) => {
        $($(#[$doc])* fn $name($db: &crate::database::Db) $body)*

        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::database::Db::sqlite()); })*
        }

        mod postgres {
            $(#[test] fn $name() {
                if let Some(db) = crate::database::Db::postgres() {
                    super::$name(&db);
                }
            })*
        }

        mod partitioned {
            $(#[test] fn $name() {
                if let Some(db) = crate::database::Db::partitioned() {
                    super::$name(&db);
                }
            })*
        }
    };
}
pub(crate) use on_both_engines;
