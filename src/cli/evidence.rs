//! `samebill evidence`: everything that an answer was made from, in a zip.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::client::{Target, escape};
use super::output::write_whole;
use super::{CliError, Format, Report, Sheet};

/// Everything that an answer was made from, in a zip that `samebill verify` computes again
///
/// The zip holds the question, the result, the plans, the readings, the calendars, prices and event lists and the
/// settings that were used, of a current answer as of one that was superseded. People can open it: README.txt in it says
/// what is what.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  samebill evidence 0198c0de-0000-7000-8000-000000000001
  samebill evidence 0198c0de-0000-7000-8000-000000000001 --output dispute-17.zip
  samebill verify dispute-17.zip")]
pub(super) struct Evidence {
    /// The comparison
    id: String,
    /// Where the zip is written; - is the standard output [default: samebill-evidence-ID.zip]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

impl Evidence {
    /// Asks and writes.
    pub(super) fn run(self, format: Format) -> Result<(), CliError> {
        let path = format!("/v1/comparisons/{}/evidence", escape(&self.id));
        let zip = self.target.client()?.download(&path)?;
        let output = self.output.unwrap_or_else(|| format!("samebill-evidence-{}.zip", escape(&self.id)).into());
        if output.as_os_str() == "-" {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(&zip)?;
            stdout.flush()?;
            return Ok(());
        }
        write_whole(&output, &zip).map_err(|error| CliError::unreadable(&output, &error))?;
        report(&output, &zip).print(format)
    }
}

fn report(path: &Path, zip: &[u8]) -> Report {
    let (file, bytes) = (path.display().to_string(), zip.len());
    let sha256 = hex::encode(Sha256::digest(zip));
    let mut sheet = Sheet::new(["file", "bytes", "sha256"]);
    sheet.row([file.clone(), bytes.to_string(), sha256.clone()]);
    Report {
        text: format!("{file}: {bytes} bytes\nverify it with: samebill verify {file}\n"),
        json: json!({"file": file, "bytes": bytes, "sha256": sha256}).to_string(),
        sheet,
    }
}
