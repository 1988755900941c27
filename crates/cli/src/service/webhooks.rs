//! `signaldex searches` for those with a webhook: pause, resume, rotate, test, deliveries; and how `serve` delivers.

use std::io::Write;

use serde_json::json;
use signaldex_server::Service;
use signaldex_server::webhooks::{
    AddressRange, AlertWebhook, RetryPauses, WebhookDelivery, WebhookOptions, WebhookRules,
    WebhookSecret, WebhookUrl, send_test,
};
use time::Duration;

use super::blocking::block_on;
use super::keys::{StateFile, parse_overlap};
use super::searches::no_search;
use super::values::parse_concurrent;
use crate::{Failure, source};

/// Which webhooks are permitted.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Webhooks")]
pub(crate) struct WebhookRuleOptions {
    /// Permit webhooks at addresses that are not public, such as 10.1.0.0/16; repeatable
    #[arg(
        long,
        value_name = "CIDR",
        value_delimiter = ',',
        env = "SIGNALDEX_WEBHOOK_ALLOW"
    )]
    webhook_allow: Vec<AddressRange>,
    /// Permit webhooks over http:, whose events anyone on the way can read
    #[arg(long, env = "SIGNALDEX_WEBHOOK_HTTP")]
    webhook_http: bool,
}

/// Pause a saved search with a webhook; it stays where it is
#[derive(Debug, clap::Args)]
pub(crate) struct PauseSearch {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
}

/// Go on with a saved search that is paused, failing or disabled, where it was
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeSearch {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
    /// Skip what has changed until now, and print how many commits that are
    #[arg(long, value_name = "now", value_parser = ["now"])]
    from: Option<String>,
}

/// Give a webhook another secret and print it once; events are signed with both until the overlap ends
#[derive(Debug, clap::Args)]
pub(crate) struct RotateSecret {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
    /// How long events are signed with the old secret as well: a number of s, m, h or d, at most 30d
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = parse_overlap)]
    overlap: Duration,
}

/// Send an event without matches to a webhook, and print what it answers; exit status 1 unless that accepts it
#[derive(Debug, clap::Args)]
pub(crate) struct TestWebhook {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
    #[command(flatten)]
    rules: WebhookRuleOptions,
}

/// How `serve` delivers to webhooks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Webhooks")]
pub(crate) struct WebhookDeliveryOptions {
    /// Deliver to no webhook; another process that shares the state may
    #[arg(long, env = "SIGNALDEX_NO_WEBHOOKS")]
    no_webhooks: bool,
    #[command(flatten)]
    rules: WebhookRuleOptions,
    /// Pauses between the attempts to deliver an event: numbers of s, m or h; after the last, the webhook is disabled
    #[arg(long, value_name = "TIMES", default_value = "5s,5m,30m,2h,5h,10h,14h,20h,24h", value_parser = parse_pauses, env = "SIGNALDEX_WEBHOOK_PAUSES")]
    webhook_pauses: RetryPauses,
    /// Maximum number of concurrent attempts: 4 a host, and half of them for endpoints whose last attempt was accepted
    #[arg(long, value_name = "N", default_value_t = WebhookOptions::default().concurrency, value_parser = parse_concurrent(), env = "SIGNALDEX_WEBHOOK_CONCURRENCY")]
    webhook_concurrency: usize,
    /// Send alerts of quotas at 80 and 100 % to this webhook, signed with the secret in SIGNALDEX_ALERT_SECRET
    #[arg(long, value_name = "URL", env = "SIGNALDEX_ALERT_WEBHOOK")]
    alert_webhook: Option<String>,
}

/// List the last attempts to deliver, newest first: at most 100 of the last 7 days
#[derive(Debug, clap::Args)]
pub(crate) struct ListDeliveries {
    #[command(flatten)]
    state: StateFile,
    /// The id that `create` printed
    id: String,
}

impl WebhookRuleOptions {
    pub(super) fn rules(&self) -> WebhookRules {
        let mut rules = WebhookRules::default();
        rules.allowed.clone_from(&self.webhook_allow);
        rules.http = self.webhook_http;
        rules
    }

    /// Reads the URL of a webhook.
    pub(super) fn url(&self, text: &str) -> Result<WebhookUrl, Failure> {
        self.url_of("--webhook", text)
    }

    fn url_of(&self, option: &str, text: &str) -> Result<WebhookUrl, Failure> {
        let url = WebhookUrl::parse(text, &self.rules());
        url.map_err(|error| format!("{option}: {error}").into())
    }
}

impl PauseSearch {
    pub(super) fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        let paused = state.pause_search(&self.id)?;
        paused.then_some(()).ok_or_else(|| no_webhook(&self.id))
    }
}

impl ResumeSearch {
    pub(super) fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        if self.from.is_none() {
            let resumed = state.resume_search(&self.id)?;
            return resumed.then_some(()).ok_or_else(|| no_webhook(&self.id));
        }
        let skipped = state.resume_search_from_now(&self.id)?;
        let skipped = skipped.ok_or_else(|| no_webhook(&self.id))?;
        let resumed = json!({"id": self.id, "skippedCommits": skipped});
        Ok(writeln!(std::io::stdout(), "{resumed}")?)
    }
}

impl RotateSecret {
    pub(super) fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        let secret = state.rotate_webhook_secret(&self.id, self.overlap.unsigned_abs())?;
        let secret = secret.ok_or_else(|| no_webhook(&self.id))?;
        let rotated = json!({"id": self.id, "secret": secret.text()});
        Ok(writeln!(std::io::stdout(), "{rotated}")?)
    }
}

impl TestWebhook {
    pub(super) fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        let answer = block_on(send_test(&state, &self.id, self.rules.rules()))?;
        let answer = answer.ok_or_else(|| no_webhook(&self.id))?;
        let printed = json!({
            "status": answer.status,
            "reason": answer.reason,
            "milliseconds": answer.milliseconds,
            "answer": String::from_utf8_lossy(&answer.body),
        });
        writeln!(std::io::stdout(), "{printed}")?;
        match answer.status {
            Some(200..=299) => Ok(()),
            Some(status) => {
                Err(format!("the webhook answered {status}; only 2xx accepts an event").into())
            }
            None => Err("the webhook did not answer".into()),
        }
    }
}

impl WebhookDeliveryOptions {
    /// Delivers until the guards are dropped.
    pub(super) fn start(&self, service: &Service) -> Result<[Option<WebhookDelivery>; 2], Failure> {
        // The dashboard saves webhooks even if another process delivers to them.
        service.set_webhook_rules(self.rules.rules());
        Ok([self.start_searches(service)?, self.start_alerts(service)?])
    }

    /// `None` if that is switched off or the corpus has no saved searches.
    fn start_searches(&self, service: &Service) -> Result<Option<WebhookDelivery>, Failure> {
        if self.no_webhooks {
            return Ok(None);
        }
        let mut options = WebhookOptions::default();
        options.rules = self.rules.rules();
        options.pauses.clone_from(&self.webhook_pauses);
        options.concurrency = self.webhook_concurrency;
        Ok(service.deliver_webhooks(options)?)
    }

    /// `None` without a webhook for alerts.
    fn start_alerts(&self, service: &Service) -> Result<Option<WebhookDelivery>, Failure> {
        let Some(url) = &self.alert_webhook else {
            return Ok(None);
        };
        let url = self.rules.url_of("--alert-webhook", url)?;
        let mut webhook = AlertWebhook::new(url, alert_secret()?);
        webhook.rules = self.rules.rules();
        webhook.pauses.clone_from(&self.webhook_pauses);
        Ok(Some(service.deliver_alerts(webhook)?))
    }
}

impl ListDeliveries {
    pub(super) fn run(self) -> Result<(), Failure> {
        let state = self.state.open_existing()?;
        if state.search(&self.id)?.is_none() {
            return Err(no_search(&self.id));
        }
        source::print_json(&state.deliveries(&self.id)?)
    }
}

/// The secret of the webhook for alerts. It is no option, so that no list of processes shows it.
fn alert_secret() -> Result<WebhookSecret, Failure> {
    let secret = std::env::var("SIGNALDEX_ALERT_SECRET").ok();
    let secret = secret.as_deref().and_then(WebhookSecret::parse);
    secret.ok_or_else(|| {
        "--alert-webhook: SIGNALDEX_ALERT_SECRET has to hold the secret that signs alerts: whsec_ and base64, such as \
         what `printf whsec_; openssl rand -base64 32` prints"
            .into()
    })
}

fn parse_pauses(text: &str) -> Result<RetryPauses, String> {
    RetryPauses::parse(text)
        .ok_or_else(|| "times such as 5s,5m,2h are needed: 1 to 32, each of 1s to 24h".to_owned())
}

fn no_webhook(id: &str) -> Failure {
    format!(
        "there is no saved search {id:?} with a webhook; `signaldex searches list` shows all, and `searches edit` takes \
         --webhook URL"
    )
    .into()
}
