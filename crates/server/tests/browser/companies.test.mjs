// The page of companies: conditions built, followed and shared by address.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { askApi, assertAccessible, openPage, overflow, PHONE, shownCount, signIn, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

const api = (path) => askApi(service, path);

async function companiesPage(path = "/companies", options = {}) {
  const page = await openPage(browser, service, options);
  await signIn(page, service);
  await page.goto(service.admin + path);
  return page;
}

const number = (text) => Number(text.replaceAll(",", ""));
const count = shownCount;
const slugs = (page) => page.locator(".card-foot code").allInnerTexts();
const condition = (page, kind, place) => page.locator(`[id="${kind}${place}.condition"]`);
const field = (page, name) => page.locator(`[name="${name}"]`);
const query = (page) => new URL(page.url()).search.slice(1);
const show = (page) => page.locator(".ask").getByRole("button", { name: "Show" }).click();

test("conditions are built from fields, followed and shared by address", async () => {
  const page = await companiesPage();
  const all = await count(page);
  await condition(page, "has", 1).locator("> summary").click();
  await field(page, "has1.min").fill("2");
  await page.locator('[name="has1.categories"][value="hiring"]').check();
  await condition(page, "hasNot", 1).locator("> summary").click();
  await page.locator('[name="hasNot1.categories"][value="funding"]').check();
  await show(page);
  await page.waitForURL("**has=**hasNot=**");
  const address = page.url();
  assert.equal(query(page), "limit=10&has=(min%3D2;categories%3Dhiring)&hasNot=(categories%3Dfunding)");
  const { count: expected } = await api(`companies?${query(page)}&countOnly=true`);
  assert.ok(expected > 0 && expected < all);
  assert.equal(await count(page), expected);
  const { items } = await api(`companies?${query(page)}`);
  assert.deepEqual(await slugs(page), items.map((item) => item.slug));
  const counts = await page.locator(".condition-counts a").allInnerTexts();
  assert.deepEqual(counts.map((text) => number(text.match(/^[\d,]+/)[0])), items.map((item) => item.matches[0].count));
  await assertAccessible(page, "companies with conditions");

  const other = await page.context().newPage();
  await other.goto(address);
  assert.equal(await field(other, "has1.min").inputValue(), "2");
  assert.equal(await other.locator('[name="hasNot1.categories"][value="funding"]').isChecked(), true);
  assert.deepEqual(await slugs(other), items.map((item) => item.slug));
  await other.close();

  await page.getByRole("link", { name: "Remove hasNot 1" }).click();
  await page.waitForURL((url) => !url.search.includes("hasNot"));
  assert.ok(await count(page) > expected);
  page.assertClean();
});

test("four conditions of each kind, and each leads to the search it counts", async () => {
  const page = await companiesPage();
  const typed = ["raises", "hires", "\"series a\"", "opens"];
  for (const [index, words] of typed.entries()) {
    await condition(page, "has", index + 1).locator("> summary").click();
    await field(page, `has${index + 1}.min`).fill("0");
    await field(page, `has${index + 1}.q`).fill(words);
    await field(page, `has${index + 1}.q`).press("Enter");
    await page.getByRole("link", { name: `Remove has ${index + 1} ` }).waitFor();
  }
  assert.equal(await condition(page, "has", 5).count(), 0);
  assert.match(await page.locator(".filters").innerText(), /Four conditions are the most/);
  const { items: [first] } = await api(`companies?${query(page)}`);
  const card = page.locator(".card").first();
  for (const [index, { count: expected }] of first.matches.entries()) {
    const address = page.url();
    await card.locator(".condition-counts a").nth(index).click();
    await page.waitForURL("**/search?**companySlug=**");
    const shown = await page.locator("#count").innerText();
    assert.equal(number(shown), expected, typed[index]);
    await page.goto(address);
  }
  page.assertClean();
});

test("choices have numbers of companies, and the order leads through all pages", async () => {
  const page = await companiesPage("/companies?has=(categories%3Dfunding)&limit=50");
  const { facets } = await api("companies?has=(categories%3Dfunding)&countOnly=true&facets=countries,industries,sizes");
  for (const [name, values] of [["country", facets.countries], ["industry", facets.industries]]) {
    const options = await page.locator(`#${name} option`).allInnerTexts();
    const expected = values.map(({ value, count }) => `${value} (${count})`);
    assert.deepEqual(options.slice(1).map((text) => text.trim()), expected);
  }
  await page.getByText("Order and page").click();
  await page.locator("#order").selectOption("-matches");
  await show(page);
  await page.waitForURL("**order=-matches**");
  const expected = await count(page);
  const seen = await slugs(page);
  while (await page.getByRole("link", { name: "Next page" }).count()) {
    const last = seen.at(-1);
    await page.getByRole("link", { name: "Next page" }).click();
    await page.locator(".card-foot code").filter({ hasText: last }).waitFor({ state: "detached" });
    seen.push(...await slugs(page));
  }
  assert.deepEqual([seen.length, new Set(seen).size], [expected, expected]);
  await page.getByRole("link", { name: "First page" }).click();
  const { items } = await api("companies?has=(categories%3Dfunding)&order=-matches&limit=50");
  await page.locator(".card-foot code").filter({ hasText: items[0].slug }).waitFor();
  assert.deepEqual(await slugs(page), items.map((item) => item.slug));
  page.assertClean();
});

test("what is copied asks the same over HTTP", async () => {
  const page = await companiesPage("/companies?country=Germany&has=(q%3D%22series+a%22+-it's)&limit=5");
  const seen = await slugs(page);
  await page.getByRole("button", { name: "Copy curl command" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  const answer = execFileSync("sh", ["-c", command], { env: { ...process.env, SIGNALDEX_KEY: service.key }, encoding: "utf8" });
  assert.deepEqual(JSON.parse(answer).data.items.map((item) => item.slug), seen);
  page.assertClean();
});

test("by keyboard and without a script", async () => {
  const page = await companiesPage("/companies", { javaScriptEnabled: false });
  await condition(page, "has", 1).locator("> summary").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.type("1");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type("raises");
  await page.keyboard.press("Enter");
  await page.waitForURL("**has=**");
  assert.equal(query(page), "limit=10&has=(min%3D1;q%3Draises)");
  await page.getByRole("link", { name: "Next page" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("**cursor=**");
});

test("what is wrong is told at its field, and what was typed stays", async () => {
  const page = await companiesPage("/companies?foundedFrom=2000&foundedTo=1999&has=(days%3D8;min=x),(q%3Draises)&limit=10");
  const alert = await page.getByRole("alert").innerText();
  for (const words of ["Founded from: The first year is after the last.", "Has signals, condition 1, Within the last: Choose one of",
    "Has signals, condition 1, At least: Enter a whole number"]) {
    assert.ok(alert.includes(words), `${words} in ${alert}`);
  }
  assert.equal(await field(page, "has1.min").getAttribute("aria-invalid"), "true");
  await assertAccessible(page, "companies with faults");
  await page.goto(`${service.admin}/companies`);
  await condition(page, "has", 1).locator("> summary").click();
  await field(page, "has1.q").fill("a),(b");
  await field(page, "has1.q").press("Enter");
  await page.getByRole("alert").waitFor();
  assert.equal(await field(page, "has1.q").inputValue(), "a),(b");
  page.assertClean([400]);
});

test("the plan shows each step with what it left", async () => {
  const page = await companiesPage("/companies?country=Germany&has=(q%3Draises),(categories%3Dhiring)&limit=10");
  await page.getByText("Query plan").click();
  const steps = await page.locator(".node-step").allInnerTexts();
  assert.equal(steps.length, 3);
  for (const step of steps) assert.match(step, /left\s+[\d,]+/);
  page.assertClean();
});

for (const colorScheme of ["light", "dark"]) {
  test(`readable on a phone, ${colorScheme}`, async () => {
    const page = await companiesPage("/companies?country=Germany&has=(q%3Draises;min%3D0),(country=%22Korea+(South)%22;min%3D0)&limit=10",
      { viewport: PHONE, colorScheme });
    assert.equal(await page.locator("#country").isVisible(), false, "companies come before filters");
    await page.evaluate(() => { for (const group of document.querySelectorAll("details")) group.open = true; });
    assert.ok(await overflow(page) <= 0, `the page is ${await overflow(page)} pixels too wide`);
    await assertAccessible(page, `companies on a phone, ${colorScheme}`);
    page.assertClean();
  });
}

test("hostile names stay text, and do not widen the page", async (context) => {
  const name = "<script>window.stolen=1</script>\"'><img src=x onerror=stolen>" + "W".repeat(300);
  const records = {
    companies: [
      { slug: "a\"&'<b>;),(x=y", name, country: "Korea (South); \"North\"", industry: "</option><b>", city: "\u202e<i>" },
      { slug: "plain", name: "Plain" },
    ],
    signals: [
      { id: "1", slug: "s1", companySlug: "a\"&'<b>;),(x=y", title: "Raises <b>", date: "2026-01-05", category: "a;b),(\"c\"" },
      { id: "2", slug: "s2", companySlug: "plain", title: "Raises", date: "9999-12-31" },
      { id: "3", slug: "s3", companySlug: "plain", title: "Raises", date: "0000-01-01" },
    ],
  };
  const hostile = await startService({ records });
  context.after(() => hostile.stop());
  const page = await openPage(browser, hostile, { viewport: PHONE });
  await signIn(page, hostile);
  await page.goto(`${hostile.admin}/companies`);
  await page.evaluate(() => { for (const group of document.querySelectorAll("details")) group.open = true; });
  await page.locator('[name="has1.categories"]').first().check();
  await page.locator('[name="has1.country"]').selectOption({ index: 1 });
  await show(page);
  await page.waitForURL("**has=**");
  assert.equal(await count(page), 1);
  assert.equal(await page.locator(".card h3").innerText(), name);
  assert.ok(await overflow(page) <= 0);
  await page.locator(".condition-counts a").click();
  await page.waitForURL("**/search?**");
  assert.equal(await count(page), 1);
  await page.goto(`${hostile.admin}/search?limit=10`);
  await page.locator(".chart").waitFor();
  assert.ok(await overflow(page) <= 0);
  assert.equal(await page.evaluate(() => window.stolen), undefined);
  page.assertClean();
});

test("companies here charge nobody", async () => {
  const before = service.run("usage");
  const page = await companiesPage("/companies?has=(q%3Draises)&limit=10");
  assert.match(await page.locator("#company-hint").innerText(), /not charged/);
  assert.equal(service.run("usage"), before);
});
