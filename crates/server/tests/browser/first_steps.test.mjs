// From the first start to the first key, the first answer, and the end of the key.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertAccessible, openPage, PHONE, signIn, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

test("first start, first key, first answer, revoked", async () => {
  const page = await openPage(browser, service);
  await page.goto(service.admin);
  assert.equal(new URL(page.url()).pathname, "/sign-in");
  await assertAccessible(page, "sign-in");
  await signIn(page, service);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.match(await page.locator(".facts").first().innerText(), /ready/);
  await page.getByRole("heading", { name: "Three steps to start" }).waitFor();
  await assertAccessible(page, "overview");

  await page.getByRole("link", { name: "Keys" }).first().click();
  await page.getByLabel("Name").fill("First client <b>");
  await page.getByLabel("Signals", { exact: true }).fill("100");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("heading", { name: "Key created for First client <b>" }).waitFor();
  await assertAccessible(page, "keys");
  const key = await page.locator("#new-key").innerText();
  assert.match(key, /^sdx_[\w-]{43}$/);

  await page.getByRole("button", { name: "Copy key" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);

  await page.reload();
  assert.equal(await page.locator("#new-key").count(), 0, "the key is shown once");
  assert.equal((await page.content()).includes(key), false);

  const ask = () => fetch(`${service.api}/api/v1/signals?limit=7`, { headers: { authorization: `Bearer ${key}` } });
  const answer = await ask();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("x-usage-remaining"), "93");
  assert.equal((await answer.json()).data.items.length, 7);

  await page.getByRole("link", { name: "Usage", exact: true }).click();
  const months = page.getByRole("region", { name: "Table of usage" }).locator("tbody tr");
  assert.equal(await months.count(), 12);
  assert.match(await months.first().innerText(), /^\d{4}-\d{2}\s+7/);
  assert.match(await page.locator("section:has(#tables-heading) tbody").innerText(), /First client <b>[\s\S]*7/);
  await assertAccessible(page, "usage");

  await page.getByRole("link", { name: "Slow queries" }).click();
  await page.getByRole("link", { name: "Plan" }).first().click();
  assert.match(await page.locator(".tree").innerText(), /direct scan of all rows/);
  await assertAccessible(page, "slow queries");

  await page.getByRole("link", { name: "Storage" }).click();
  assert.match(await page.locator(".facts").first().innerText(), /2,000/);
  await assertAccessible(page, "storage");

  await page.getByRole("link", { name: "Overview" }).click();
  assert.equal(await page.getByRole("heading", { name: "Three steps to start" }).count(), 0);
  await page.getByRole("link", { name: "First client <b>", exact: true }).click();
  const id = answer.headers.get("x-request-id");
  assert.match(await page.getByRole("row").filter({ hasText: id }).innerText(), /First client <b>[\s\S]*search[\s\S]*200/);
  await assertAccessible(page, "requests");

  await page.getByRole("link", { name: "Keys" }).first().click();
  const row = page.getByRole("row").filter({ hasText: "First client <b>" });
  assert.match(await row.innerText(), /7\s*of 100/);
  assert.ok((await row.innerText()).includes(`${key.slice(0, 8)}…${key.slice(-4)}`), "a hint of the secret");
  await row.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Revoke First client <b>" }).click();
  await page.getByRole("row").filter({ hasText: "First client <b>" }).getByText("revoked").waitFor();
  assert.equal((await ask()).status, 401, "at once, without waiting");
  page.assertClean();
});

test("keys are sorted, found, edited and rotated", async () => {
  for (const name of ["Beta", "alpha", "Gamma"]) service.run("keys", "create", "--name", name, "--rate", String(name.length));
  const page = await openPage(browser, service);
  await signIn(page, service);
  await page.goto(`${service.admin}/keys`);
  const names = async () => (await page.locator("table.keys tbody th").allInnerTexts()).map((text) => text.split("\n")[0].trim());
  await page.getByRole("columnheader", { name: "Name" }).getByRole("link").click();
  const ascending = await names();
  assert.deepEqual(ascending.slice(0, 2), ["alpha", "Beta"]);
  await page.getByRole("columnheader", { name: "Name" }).getByRole("link").click();
  assert.deepEqual(await names(), ascending.toReversed());
  assert.equal(await page.locator("th[aria-sort=descending]").innerText(), "Name");
  await page.getByLabel("Find").fill("BETA");
  await page.getByRole("button", { name: "Show" }).click();
  assert.deepEqual(await names(), ["Beta"]);
  await assertAccessible(page, "keys, sorted");

  await page.getByRole("link", { name: "Edit Beta" }).click();
  await page.getByLabel("Burst").fill("7");
  await page.getByLabel("Name").fill("Beta of two");
  await page.getByRole("button", { name: "Save settings" }).click();
  assert.match(await page.getByRole("status").innerText(), /Saved/);
  await assertAccessible(page, "a key");
  const [record] = JSON.parse(service.run("keys", "list")).filter(({ name }) => name === "Beta of two");
  assert.deepEqual([record.burst, record.rate], [7, 4]);
  await page.getByRole("button", { name: "Rotate Beta of two" }).click();
  await page.getByRole("heading", { name: "New secret for Beta of two" }).waitFor();
  const key = await page.locator("#new-key").innerText();
  const answer = await fetch(`${service.api}/api/v1/signals?limit=1`, { headers: { authorization: `Bearer ${key}` } });
  assert.deepEqual([answer.status, answer.headers.get("ratelimit-policy")], [200, '"key";q=7;w=2']);
  page.assertClean();
});

test("usage is shown by day, and downloaded", async () => {
  await fetch(`${service.api}/api/v1/signals?limit=2`, { headers: { authorization: `Bearer ${service.key}` } });
  const page = await openPage(browser, service);
  await signIn(page, service);
  await page.goto(`${service.admin}/usage`);
  await page.getByLabel("By", { exact: true }).selectOption("day");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("heading", { name: "Signals by day" }).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download CSV", exact: true }).click()]);
  assert.equal(file.suggestedFilename(), "usage-by-day.csv");
  assert.match(await page.locator("section:has(#requests-heading) table").innerText(), /search/);
  await assertAccessible(page, "usage by day");
  page.assertClean();
});

test("a form with faults says all of them and makes no key", async () => {
  const page = await openPage(browser, service, { viewport: PHONE });
  await signIn(page, service);
  await page.goto(`${service.admin}/keys`);
  await page.getByLabel("Requests per second").fill("0");
  await page.getByLabel("signals:read").uncheck();
  await page.getByLabel("companies:read").uncheck();
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("alert").waitFor();
  assert.deepEqual(await page.locator("[id$=-error]").allInnerTexts(), [
    "Enter a name.", "Enter a whole number from 1 to 4,294,967,295.", "Choose at least one scope."]);
  assert.equal(await page.getByLabel("Requests per second").inputValue(), "0", "what was typed stays");
  await assertAccessible(page, "keys with faults, on a phone");
  page.assertClean([400]);
});

test("everything can be done without a pointer and without scripts", async () => {
  const page = await openPage(browser, service, { javaScriptEnabled: false });
  await page.goto(`${service.admin}/keys`);
  await page.locator("#token:focus").waitFor();
  await page.keyboard.type(service.token);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(new URL(page.url()).hash, "#content", "the first stop skips the navigation");
  await page.goto(`${service.admin}/search`);
  await page.getByLabel("Words in the title").focus();
  await page.keyboard.type("raises");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/search?q=raises*");
  assert.notEqual(await page.locator("#count").innerText(), "2,000");
});
