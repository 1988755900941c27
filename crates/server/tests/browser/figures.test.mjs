// Figures over all matches of a search: equal to the API, after the signals, and a way to narrow the dates.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { askApi, assertAccessible, openSignedIn, overflow, PHONE, shownCount, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

const api = (path) => askApi(service, path);

const signedIn = (options) => openSignedIn(browser, service, options);

const count = shownCount;

// The chart as a screen reader has it: periods with their exact numbers.
async function bars(page) {
  await page.locator(".chart").waitFor();
  const periods = await page.locator(".chart thead .hidden").allTextContents();
  const counts = await page.locator(".chart td .hidden").allTextContents();
  return periods.map((period, index) => [period, Number(counts[index].replaceAll(",", ""))]);
}

// What the API answers for the same search, by a unit of time.
async function groups(query, unit) {
  const { groups } = await api(`aggregates?${query}&by=${unit}`);
  return groups.filter((group) => group.key[unit]).map((group) => [group.key[unit], group.count]);
}

const withMatches = (bars) => bars.filter(([, count]) => count > 0);

test("the chart and the amounts are those of the API, and follow the search", async () => {
  const page = await signedIn();
  await page.goto(`${service.admin}/search?categories=funding&limit=10`);
  assert.deepEqual(withMatches(await bars(page)), await groups("categories=funding", "month"));
  const shown = await page.locator(".amounts tbody tr").allInnerTexts();
  const { totals } = await api("aggregates?categories=funding&measures=sum,median");
  assert.equal(shown.length, totals.amounts.length);
  for (const [index, { currency, count, sum, median }] of totals.amounts.entries()) {
    const cells = shown[index].split("\t").map((cell) => cell.trim().replaceAll(",", ""));
    const rounded = (amount) => Number.isInteger(amount) ? String(amount) : amount.toFixed(2);
    assert.deepEqual(cells, [currency ?? "no currency", String(count), rounded(sum), rounded(median)]);
  }
  await assertAccessible(page, "search with figures");

  await page.getByLabel("Country").selectOption("Germany");
  await page.waitForURL("**country=Germany**");
  const expected = await groups("categories=funding&country=Germany", "month");
  await page.waitForFunction((sum) => {
    const counts = [...document.querySelectorAll(".chart td .hidden")].map((cell) => Number(cell.textContent.replaceAll(",", "")));
    return counts.length > 0 && counts.reduce((a, b) => a + b) === sum;
  }, expected.reduce((sum, [, count]) => sum + count, 0));
  assert.deepEqual(withMatches(await bars(page)), expected);
  page.assertClean();
});

test("a bar narrows the dates until it is a day, by keyboard alone", async () => {
  const page = await signedIn();
  await page.goto(`${service.admin}/search?q=raises&limit=10`);
  let [period, expected] = (await bars(page)).reduce((most, bar) => bar[1] > most[1] ? bar : most);
  assert.match(period, /^\d{4}-\d{2}$/, "months");
  await page.locator(".chart td a").filter({ has: page.locator(`.hidden:text-is("${expected}")`) }).first().focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("**dateFrom=**dateTo=**");
  assert.equal(await count(page), expected);
  const query = new URL(page.url()).search.slice(1).replace(/&?limit=10/, "");
  assert.deepEqual(withMatches(await bars(page)), await groups(query, "day"), "a month is shown by day");

  [period, expected] = withMatches(await bars(page))[0];
  await page.locator(`.chart td a[title^="${period}"]`).click();
  await page.waitForURL(`**dateFrom=${period}&dateTo=${period}`);
  assert.equal(await count(page), expected);
  assert.deepEqual(await bars(page), [[period, expected]]);
  assert.equal(await page.locator(".chart a").count(), 0, "the day that is shown leads nowhere");
  await page.getByRole("link", { name: "Remove dateTo" }).click();
  await page.waitForURL((url) => !url.search.includes("dateTo"));
  page.assertClean();
});

test("signals never wait for figures, and a link stays where these fail", async () => {
  const page = await signedIn();
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/search/figures?**", async (route) => { await held; await route.abort(); });
  await page.goto(`${service.admin}/search?q=raises&limit=10`);
  assert.equal(await page.locator(".card").count(), 10);
  assert.equal(await page.locator(".chart").count(), 0);
  release();
  await page.locator(".figures:not([aria-busy])").waitFor();
  await page.unroute("**/search/figures?**");
  await page.getByRole("link", { name: "Matches by date, sums and medians" }).click();
  await page.waitForURL("**/search/figures?q=raises**");
  assert.deepEqual(withMatches(await bars(page)), await groups("q=raises", "month"));
});

test("without a script figures are a page of their own", async () => {
  const page = await signedIn({ javaScriptEnabled: false });
  await page.goto(`${service.admin}/search?categories=hiring&limit=10`);
  await page.getByRole("link", { name: "Matches by date, sums and medians" }).click();
  assert.deepEqual(withMatches(await bars(page)), await groups("categories=hiring", "month"));
  const [period, expected] = withMatches(await bars(page))[0];
  await page.locator(`.chart td a[title^="${period}"]`).click();
  await page.waitForURL("**/search?**dateFrom=**");
  assert.equal(await count(page), expected);
});

test("figures of nothing, of invalid searches, and on a phone", async () => {
  const page = await signedIn({ viewport: PHONE });
  await page.goto(`${service.admin}/search/figures?q=zebra`);
  assert.match(await page.locator("#figures").innerText(), /No matches/);
  for (const path of ["/search?limit=10", "/search/figures?q=raises", "/search/figures?days=30"]) {
    await page.goto(service.admin + path);
    await page.locator(".chart").waitFor();
    assert.ok(await overflow(page) <= 0, path);
    await assertAccessible(page, path);
    const [height, width] = await page.locator(".chart tbody td").first().evaluate((cell) => [cell.offsetHeight, cell.offsetWidth]);
    assert.ok(height > 100 && width >= 24, `a bar can be hit: ${height}, ${width}`);
  }
  await page.goto(`${service.admin}/search/figures?contry=x`);
  assert.match(await page.locator("main").innerText(), /Did you mean|contry/);
  page.assertClean([400]);
});
