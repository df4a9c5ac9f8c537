//! `samebill demo`: the story on a fresh embedded database.

mod data;
mod story;

use super::client::Client;
use super::local::PrivateServer;
use super::output::print_line;
use super::{CliError, Format};
use crate::config::Settings;
use story::Story;

/// Tell the whole story on a fresh database: import, compare, ask again, correct, supersede, look back
///
/// Real readings, published rates, a private server and a temporary database, which is gone afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill demo
  samebill demo --serve
  samebill demo --format json")]
pub(super) struct Demo {
    /// Keep the server up with the demo's data, to play with
    #[arg(long)]
    serve: bool,
    /// Where it listens with --serve
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: String,
}

impl Demo {
    /// Tells it.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let folder = tempfile::tempdir()?;
        let settings = Settings {
            database_url: format!("sqlite://{}", folder.path().join("demo.db").display()),
            listen: if self.serve { self.listen } else { "127.0.0.1:0".to_owned() },
            ..Settings::default()
        };
        let client = Client::of_private(PrivateServer::start(settings)?);
        if format == Format::Table {
            print_line("Samebill: what would this customer have paid under each of these plans?")?;
        }
        Story::new(&client, format).tell()?;
        if self.serve {
            if format == Format::Table {
                print_line(&things_to_try(client.base_url()))?;
            }
            return client.wait();
        }
        if format == Format::Table {
            print_line(&how_to_go_on(&program()))?;
        }
        Ok(())
    }
}

/// How this program was called, so that what is printed can be typed: `samebill`, `target/release/samebill`.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    if called.is_empty() || called.starts_with('/') { "samebill".to_owned() } else { called }
}

fn how_to_go_on(program: &str) -> String {
    format!(
        "\nGo on:\n   {program} demo --serve    the same data in a server to play with, and curl lines for it\n   \
         {program} bill --help     plans on your own readings, offline\n   \
         {program} serve           a server of your own"
    )
}

/// Lines that work while the server is up.
fn things_to_try(base_url: &str) -> String {
    let program = program();
    let plans = story::plan_ids().map(|id| format!("\"{id}\"")).join(", ");
    format!(
        r#"
The server listens on {base_url} until Ctrl-C. In another terminal:

   curl -s {base_url}/v1/comparisons -H 'content-type: application/json' \
     -d '{{"customer_id": "chicago-home", "billing_period": "2017-08", "plan_ids": [{plans}]}}'
   curl -s '{base_url}/v1/comparisons?customer_id=chicago-home&status=all'
   curl -s {base_url}/v1/customers/london-home
   curl -s {base_url}/v1/plans/fpl-rs-1
   {program} compare --server {base_url} --customer chicago-home --period 2017-01 --plan fpl-rs-1 psco-rd
   {program} history --server {base_url} --customer chicago-home"#
    )
}
