//! Usage and requests as CSV.

use super::periods::Period;
use crate::admin::dashboard::Admin;
use crate::admin::failed::PageResult;
use crate::admin::form::FormData;
use crate::admin::layout;
use crate::admin::visit::Visit;
use crate::metering::Counter;
use signaldex::json::write_csv_cell;

/// Usage by month or day and key.
pub(in crate::admin) fn usage(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let (period, key) = (Period::of_name(form.value("by")), form.value("key"));
    let from = period.from(admin.0.service.0.state.now().date());
    let mut text = Vec::new();
    let counters = Counter::ALL.map(Counter::as_str);
    let names = [period.as_str(), "keyId", "name"].into_iter();
    write_row(&mut text, names.chain(counters));
    let usage = period.usage(&admin.0.service.0.state, from)?;
    for line in usage
        .iter()
        .filter(|line| key.is_empty() || line.key_id == key)
    {
        let counts = line.counts.map(|count| count.to_string());
        let cells = [line.period.as_str(), &line.key_id, &line.name].into_iter();
        write_row(&mut text, cells.chain(counts.iter().map(String::as_str)));
    }
    let name = format!("usage-by-{}.csv", period.as_str());
    Ok(layout::download("text/csv; charset=utf-8", &name, text))
}

/// Requests by day, key, endpoint and status.
pub(in crate::admin) fn requests(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let (period, key) = (Period::of_name(form.value("by")), form.value("key"));
    let from = period.from(admin.0.service.0.state.now().date());
    admin.0.service.record_requests();
    let mut text = Vec::new();
    let names = ["day", "keyId", "name", "endpoint", "status", "requests"];
    write_row(&mut text, names.into_iter());
    for line in admin.0.service.0.state.requests(from)? {
        let (id, name) = line.key.unwrap_or_default();
        if !key.is_empty() && id != key {
            continue;
        }
        let (day, status) = (line.day.to_string(), line.status.to_string());
        let requests = line.requests.to_string();
        let cells = [&day, &id, &name, &line.endpoint, &status, &requests];
        write_row(&mut text, cells.into_iter().map(String::as_str));
    }
    let content_type = "text/csv; charset=utf-8";
    Ok(layout::download(content_type, "requests.csv", text))
}

fn write_row<'c>(text: &mut Vec<u8>, cells: impl Iterator<Item = &'c str>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write_csv_cell(text, cell);
    }
    text.extend_from_slice(b"\r\n");
}
