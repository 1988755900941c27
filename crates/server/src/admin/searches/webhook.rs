//! What forms do to the webhook of a saved search: pause, resume, rotate, test.

use axum::http::StatusCode;
use tokio::runtime::Handle;

use super::one::{AttemptOutcome, SearchForms, TestedWebhook, find, render};
use super::{not_found, rules, to_search};
use crate::admin::dashboard::Admin;
use crate::admin::failed::PageResult;
use crate::admin::figures;
use crate::admin::layout;
use crate::admin::overlap;
use crate::admin::visit::Visit;
use crate::webhooks::{TestAnswer, send_test};

/// Pauses a search.
pub(in crate::admin) fn pause(admin: &Admin, visit: &Visit) -> PageResult {
    let (id, state) = (visit.form.value("id"), &admin.0.service.0.state);
    if !state.pause_search_by(&visit.actor(), id)? {
        return not_found(visit);
    }
    tracing::info!(search = id, "a search was paused in the dashboard");
    layout::see(&format!("/searches/edit?id={id}"))
}

/// Resumes a search where it was, or from now on.
pub(in crate::admin) fn resume(admin: &Admin, visit: &Visit) -> PageResult {
    let (id, state) = (visit.form.value("id"), &admin.0.service.0.state);
    if visit.form.value("from").is_empty() {
        if !state.resume_search_by(&visit.actor(), id)? {
            return not_found(visit);
        }
        tracing::info!(search = id, "a search was resumed in the dashboard");
        return layout::see(&format!("/searches/edit?id={id}"));
    }
    let skipped = match state.resume_search_from_now_by(&visit.actor(), id) {
        Ok(Some(skipped)) => skipped,
        Ok(None) => return not_found(visit),
        Err(error) => return refuse_resume(admin, visit, error.refusal()?),
    };
    tracing::info!(
        search = id,
        "a search was resumed from now in the dashboard"
    );
    let skipped = skipped.map_or("all".to_owned(), |commits| commits.to_string());
    layout::see(&format!("/searches/edit?id={id}&skipped={skipped}"))
}

/// The page with the reason why a search was not resumed.
fn refuse_resume(admin: &Admin, visit: &Visit, reason: String) -> PageResult {
    let Some(search) = find(admin, visit.form.value("id"))? else {
        return not_found(visit);
    };
    let forms = SearchForms {
        not_resumed: reason,
        ..SearchForms::of(&search)
    };
    render(admin, visit, StatusCode::BAD_REQUEST, (&search, forms))
}

/// Replaces the secret of a webhook and redirects to the page of the search, which shows it.
pub(in crate::admin) fn rotate(admin: &Admin, visit: &Visit) -> PageResult {
    let Some(search) = find(admin, visit.form.value("id"))? else {
        return not_found(visit);
    };
    let overlap = match overlap::read(&visit.form) {
        Ok(overlap) => overlap.unsigned_abs(),
        Err(error) => {
            let forms = SearchForms::of(&search);
            let forms = SearchForms {
                overlap: forms.overlap.refused(error),
                ..forms
            };
            return render(admin, visit, StatusCode::BAD_REQUEST, (&search, forms));
        }
    };
    let state = &admin.0.service.0.state;
    let Some(secret) = state.rotate_webhook_secret_by(&visit.actor(), &search.id, overlap)? else {
        return not_found(visit);
    };
    tracing::info!(search = search.id, "a webhook was rotated in the dashboard");
    to_search(visit, &search.id, Some(secret))
}

/// Sends an event that tries the webhook, and shows what it answers. Two are under way at most: a receiver that does not
/// answer takes a thread for blocking work for 15 seconds.
pub(in crate::admin) fn test(admin: &Admin, visit: &Visit) -> PageResult {
    let id = visit.form.value("id");
    let Ok(_permit) = admin.0.webhook_tests.try_acquire() else {
        return refuse_test(admin, visit);
    };
    let state = &admin.0.service.0.state;
    let sending = send_test(state, id, rules(admin));
    let answer = Handle::current().block_on(sending)?;
    let (Some(answer), Some(search)) = (answer, find(admin, id)?) else {
        return not_found(visit);
    };
    tracing::info!(search = id, "a webhook was tried in the dashboard");
    let forms = SearchForms {
        tested: Some(TestedWebhook::new(&answer)),
        ..SearchForms::of(&search)
    };
    render(admin, visit, StatusCode::OK, (&search, forms))
}

/// The page that tells to wait for other tests.
fn refuse_test(admin: &Admin, visit: &Visit) -> PageResult {
    let Some(search) = find(admin, visit.form.value("id"))? else {
        return not_found(visit);
    };
    let forms = SearchForms {
        not_tested: true,
        ..SearchForms::of(&search)
    };
    render(
        admin,
        visit,
        StatusCode::TOO_MANY_REQUESTS,
        (&search, forms),
    )
}

impl TestedWebhook {
    fn new(answer: &TestAnswer) -> TestedWebhook {
        TestedWebhook {
            outcome: AttemptOutcome::new(answer.status, answer.reason.as_deref()),
            time: format!("{} ms", figures::grouped(answer.milliseconds)),
            answer: String::from_utf8_lossy(&answer.body).into_owned(),
        }
    }
}
