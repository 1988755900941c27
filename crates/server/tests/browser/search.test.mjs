// The search page, held against the interface: filter, page, copy.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { askApi, assertAccessible, openPage, PHONE, shownCount, signIn, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

const api = (path) => askApi(service, path);

async function searchPage(options) {
  const page = await openPage(browser, service, options);
  await signIn(page, service);
  await page.goto(`${service.admin}/search`);
  return page;
}

const ids = (page) => page.locator(".card-foot code").allInnerTexts();
const count = shownCount;

test("choosing filters narrows results, counts and address together", async () => {
  const page = await searchPage();
  assert.equal(await count(page), 2000);
  await page.getByLabel("funding", { exact: false }).first().check();
  await page.waitForURL("**categories=funding**");
  await page.getByLabel("Country").selectOption("Germany");
  await page.waitForURL("**country=Germany**");
  await page.locator("#said", { hasText: "signals" }).waitFor({ state: "attached" });

  const query = new URL(page.url()).search.slice(1);
  assert.deepEqual(await ids(page), (await api(`signals?${query}`)).items.map((item) => item.id));
  const filters = "categories=funding&country=Germany";
  assert.equal(await count(page), (await api(`signals?${filters}&countOnly=true`)).count);

  const options = await api(`filter-options?${filters}`);
  const shown = await page.getByLabel("Industry").locator("option").allInnerTexts();
  const expected = options.industries.map(({ value, count }) => `${value} (${count})`);
  assert.deepEqual(shown.slice(1).map((text) => text.trim()), expected);

  await page.getByRole("link", { name: "Remove country Germany" }).click();
  await page.waitForURL((url) => !url.search.includes("country"));
  assert.equal(await page.getByLabel("funding", { exact: false }).first().isChecked(), true);
  await page.goBack();
  await page.getByRole("link", { name: "Remove country Germany" }).waitFor();
  await assertAccessible(page, "search");
  page.assertClean();
});

test("the order is chosen, and one by amount asks for a currency", async () => {
  const page = await searchPage();
  await page.getByText("Order and page").click();
  await page.getByLabel("Order", { exact: true }).selectOption("-date");
  await page.waitForURL("**order=-date**");
  await page.getByText("latest date first. Answered").waitFor();
  assert.deepEqual(await ids(page), (await api("signals?order=-date&limit=10")).items.map((item) => item.id));

  await page.goto(`${service.admin}/search?order=-amount&limit=10`);
  assert.match(await page.locator("#order-error").innerText(), /Choose a funding currency/);
  await page.getByText("Funding", { exact: true }).click();
  await page.getByLabel("Currency").selectOption("EUR");
  await page.waitForURL("**fundingCurrency=EUR**");
  await page.getByText("largest amount first. Answered").waitFor();
  const query = "order=-amount&fundingCurrency=EUR&limit=10";
  assert.deepEqual(await ids(page), (await api(`signals?${query}`)).items.map((item) => item.id));
  await assertAccessible(page, "search by amount");
  page.assertClean([400]);
});

test("the focus stays where a box was chosen", async () => {
  const page = await searchPage();
  const box = page.getByRole("checkbox", { name: /^hiring/ });
  await box.focus();
  await page.keyboard.press("Space");
  await page.waitForURL("**categories=hiring**");
  await page.locator("#said", { hasText: "signals" }).waitFor({ state: "attached" });
  const focused = await page.evaluate(() => [document.activeElement.name, document.activeElement.value]);
  assert.deepEqual(focused, ["categories", "hiring"]);
  page.assertClean();
});

test("every filter of the interface is in the form", async () => {
  const page = await searchPage();
  const description = await (await fetch(`${service.api}/openapi.json`)).json();
  const notInTheForm = ["cursor", "page", "countOnly"];
  const parameters = description.paths["/api/v1/signals"].get.parameters
    .filter((parameter) => parameter.in === "query").map((parameter) => parameter.name)
    .filter((name) => !notInTheForm.includes(name));
  assert.ok(parameters.length > 25);
  for (const name of parameters) {
    assert.ok(await page.locator(`[name="${name}"]`).count() > 0, name);
  }
  page.assertClean();
});

test("pages follow each other to the end, and the first is one step away", async () => {
  const page = await searchPage();
  await page.goto(`${service.admin}/search?q=raises&days=90&limit=10`);
  const expected = await count(page);
  const seen = await ids(page);
  while (await page.getByRole("link", { name: "Next page" }).count()) {
    const last = seen.at(-1);
    await page.getByRole("link", { name: "Next page" }).click();
    await page.locator(".card-foot code").filter({ hasText: last }).waitFor({ state: "detached" });
    seen.push(...await ids(page));
  }
  assert.equal(seen.length, expected);
  assert.equal(new Set(seen).size, expected);
  await page.getByRole("link", { name: "First page" }).click();
  await page.locator(".card-foot code").filter({ hasText: seen[0] }).waitFor();
  page.assertClean();
});

test("what is copied does what is seen", async () => {
  const page = await searchPage();
  await page.getByLabel("Words in the title").fill("\"series a\" -it's C++ 50%");
  await page.getByLabel("Words in the title").press("Enter");
  await page.waitForURL("**/search?q=**");
  await page.goto(`${service.admin}/search?q=%22series+a%22+-it%27s&limit=5`);
  const seen = await ids(page);
  assert.equal(seen.length, 5);
  await page.getByRole("button", { name: "Copy curl command" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  const answer = execFileSync("sh", ["-c", command], { env: { ...process.env, SIGNALDEX_KEY: service.key }, encoding: "utf8" });
  assert.deepEqual(JSON.parse(answer).data.items.map((item) => item.id), seen);
  await page.getByRole("button", { name: "Copy Rust code" }).click();
  const rust = await page.evaluate(() => navigator.clipboard.readText());
  const query = rust.match(/Query::from_query_string\("([^"]*)"\)/)[1];
  assert.deepEqual((await api(`signals?${query}`)).items.map((item) => item.id), seen);
  page.assertClean();
});

test("the plan is a tree of the steps with estimated and actual rows", async () => {
  const page = await searchPage();
  await page.goto(`${service.admin}/search?q=raises&country=Germany&exclude=seed&limit=10`);
  assert.equal(await page.locator(".tree").isVisible(), false, "the plan starts folded");
  await page.getByText("Query plan").click();
  const steps = await page.locator(".node-step").allInnerTexts();
  assert.equal(steps.length, 6, "three of the page, three of the count");
  for (const step of steps) assert.match(step, /estimated\s+[\d,]+/);
  // A step that runs fused with the next one leaves no rows of its own to count.
  assert.ok(steps.filter((step) => /left\s+[\d,]+/.test(step)).length >= 4);
  assert.equal(await page.locator(".tree > li > ul > li > ul > li > ol > li").count(), 6);
  page.assertClean();
});

test("what is found is marked and leads to its page, its company and back", async () => {
  const page = await searchPage();
  await page.goto(`${service.admin}/search?q=%22series+a%22&limit=10`);
  assert.deepEqual((await page.locator(".card mark").allInnerTexts()).slice(0, 2).map((text) => text.toLowerCase()), ["series", "a"]);
  const card = page.locator(".card").first();
  const [id, title] = [await card.locator("code").innerText(), await card.locator("h3").innerText()];
  await card.locator("h3 a").click();
  await page.waitForURL(`**/signals/${id}`);
  assert.equal(await page.locator("h1").innerText(), title);
  await assertAccessible(page, "a signal");
  const { company } = await api(`signals/${id}`);
  await page.locator(".card-company a").click();
  await page.waitForURL("**/companies/**");
  assert.ok((await page.locator("main").innerText()).includes(company.industry));
  await assertAccessible(page, "a company");
  await page.getByRole("link", { name: "in search" }).click();
  assert.ok((await ids(page)).includes(id));
  page.assertClean();
});

test("a search is given as JSON and CSV", async () => {
  const page = await searchPage();
  await page.goto(`${service.admin}/search?q=raises&limit=10`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "CSV of all matches" }).click()]);
  assert.equal(file.suggestedFilename(), "signals.csv");
  await page.getByRole("link", { name: "JSON of this page" }).click();
  const answer = JSON.parse(await page.evaluate(() => document.body.textContent));
  assert.deepEqual(answer.data, await api("signals?q=raises&limit=10"));
});

test("the slash leads to the search, and stays a slash in a text", async () => {
  const page = await searchPage();
  await page.getByRole("checkbox", { name: /^hiring/ }).focus();
  await page.keyboard.press("/");
  await page.locator("#q:focus").waitFor();
  await page.keyboard.type("a/b");
  assert.equal(await page.locator("#q").inputValue(), "a/b");
  page.assertClean();
});

test("a search that gets no answer says so and can be tried again", async () => {
  const page = await searchPage();
  await page.route("**/search?**", (route) => route.abort());
  await page.getByLabel("Country").selectOption("Germany");
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /did not answer/);
  assert.equal(await count(page), 2000, "the results before stay");
  await assertAccessible(page, "search without an answer");
  await page.unroute("**/search?**");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.waitForURL("**country=Germany**");
  assert.equal(await page.locator("#failed").isVisible(), false);
});

test("a wrong query is explained where it was typed", async () => {
  const page = await searchPage();
  await page.goto(`${service.admin}/search?q=-&dateFrom=2026-02-30&contry=Germany&limit=10`);
  const alert = await page.getByRole("alert").innerText();
  for (const words of ["Words in the title: Enter at least one letter", "Date from: Enter a day", "Did you mean country?"]) {
    assert.ok(alert.includes(words), `${words} in ${alert}`);
  }
  assert.equal(await page.locator("#dateFrom-error").innerText(), "Enter a day of the calendar as YYYY-MM-DD.");
  assert.equal(await page.getByLabel("Words in the title").getAttribute("aria-invalid"), "true");
  await assertAccessible(page, "search with faults");
  page.assertClean([400]);
});

for (const colorScheme of ["light", "dark"]) {
  test(`readable on a phone, ${colorScheme}`, async () => {
    const page = await searchPage({ viewport: PHONE, colorScheme });
    await page.goto(`${service.admin}/search?q=raises&categories=funding&limit=10`);
    assert.equal(await page.getByLabel("Country").isVisible(), false, "results come before filters");
    await page.getByText("Filters", { exact: true }).click();
    await page.evaluate(() => { for (const group of document.querySelectorAll("details")) group.open = true; });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
    await assertAccessible(page, `search on a phone, ${colorScheme}`);
    page.assertClean();
  });
}

for (const colorScheme of ["light", "dark"]) {
  test(`no page is wider than a phone, ${colorScheme}`, async () => {
    const page = await openPage(browser, service, { viewport: PHONE, colorScheme });
    await signIn(page, service);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const [signal] = (await api("signals?limit=1")).items;
    const records = [`/signals/${signal.id}`, `/companies/${signal.companySlug}`];
    const pages = ["/", "/search", "/search/figures", "/companies", "/companies?has=(categories%3Dfunding)&hasNot=(days%3D7)", "/keys", "/keys/edit?id=key_trial", "/usage", "/usage?by=day", "/requests", "/slow", "/storage", "/search/new?q=robotics&since=start", ...records]
      .map((path) => service.admin + path);
    const reference = ["", "/search-signals", "/get-signal", "/get-company", "/find-companies", "/get-filter-options", "/get-changes", "/export-signals", "/aggregate-signals"];
    for (const address of [...pages, ...reference.map((path) => `${service.api}/docs${path}`)]) {
      await page.goto(address);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${address} is ${overflow} pixels too wide`);
      if (address.startsWith(service.admin)) await assertAccessible(page, address);
    }
    for (const path of reference) {
      await page.goto(`${service.api}/docs${path}`);
      await assertAccessible(page, `the API reference${path}`);
    }
  });
}

test("searching here charges nobody", async () => {
  const before = service.run("usage");
  const page = await searchPage();
  await page.goto(`${service.admin}/search?q=raises&limit=10`);
  assert.match(await page.locator("#q-hint").innerText(), /not charged/);
  assert.equal(service.run("usage"), before);
});
