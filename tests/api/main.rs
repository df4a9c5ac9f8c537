//! The API as its clients see it, on SQLite and PostgreSQL: what is asked once, asked again, asked by many at once; what
//! is refused and how.

mod conditions;
mod evidence;
mod foreign;
mod helpers;
mod imports;
mod includes;
mod inspect;
mod meter_points;
mod price_series;
#[allow(dead_code, reason = "shared with the stories of broken servers")]
mod process;
mod processes;
mod races;
mod refusals;
mod resources;
mod samples;
mod schemas;
mod shared;
mod shared_answers;
mod story;
mod unsure;

/// Declares each behaviour once and runs it on both engines, each time on a fresh server and database.
macro_rules! on_both_engines {
    ($($(#[$meta:meta])* fn $name:ident($app:ident: &TestApp) $body:block)*) => {
        $($(#[$meta])* fn $name($app: &TestApp) $body)*

        mod sqlite {
            $(#[test] fn $name() {
                if let Some(app) = crate::helpers::TestApp::spawn(crate::helpers::Engine::Sqlite) {
                    super::$name(&app);
                }
            })*
        }

        mod postgres {
            $(#[test] fn $name() {
                if let Some(app) = crate::helpers::TestApp::spawn(crate::helpers::Engine::Postgres) {
                    super::$name(&app);
                }
            })*
        }
    };
}
pub(crate) use on_both_engines;
