// The API reference in a browser: its forms send what a reader types, under the policy of the page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PHONE, assertAccessible, openPage, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

async function openReference(path, options = {}) {
  const page = await openPage(browser, { ...service, admin: service.api }, options);
  await page.goto(`${service.api}/docs/${path}`);
  return page;
}

async function send(page, key = service.key) {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Send" }).click();
  const status = page.getByRole("status").filter({ hasText: /^\d/ });
  await status.waitFor();
  return status.innerText();
}

test("the example of each endpoint is sent as it stands", async () => {
  for (const [path, expected] of [
    ["search-signals", "eastermoor-school"],
    ["get-signal", "São Bento Agro S.A. makes"],
    ["get-company", "São Bento Agro S.A."],
    ["get-filter-options", "fundingCurrencies"],
    ["aggregate-signals", "totals"],
    ["find-companies", "Fennmark Mutual"],
  ]) {
    const page = await openReference(path);
    assert.match(await send(page), /^200/, path);
    assert.ok((await page.locator("#try .body").innerText()).includes(expected), path);
    assert.match(await page.locator("#try .headers").innerText(), /x-request-id: /);
    page.assertClean();
  }
});

test("typed values and headers are sent, and the curl line has them", async () => {
  const page = await openReference("search-signals");
  await page.getByText("More parameters").click();
  await page.getByLabel("countOnly").fill("true");
  await page.getByLabel("limit").fill("");
  assert.match(await send(page), /^200/);
  assert.match(await page.locator("#try .body").innerText(), /"count": 15/);
  const curl = await page.locator("#try .curl").innerText();
  assert.ok(curl.includes("countOnly=true") && !curl.includes(service.key), curl);
  const tag = (await page.locator("#try .headers").innerText()).match(/etag: (.*)/)[1];
  await page.getByLabel("If-None-Match").fill(tag);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("status").filter({ hasText: /^304/ }).waitFor();
  page.assertClean();
});

test("a refusal is shown with its problem", async () => {
  const page = await openReference("get-signal");
  assert.match(await send(page, "sdx_nothing"), /^401/);
  assert.match(await page.locator("#try .body").innerText(), /"code": "unauthorized"/);
  await page.getByLabel("id", { exact: true }).fill("x/y");
  assert.match(await send(page), /^400|^401/);
  page.assertClean([400, 401]);
});

test("without scripts the form is hidden and the lines to copy are there", async () => {
  const page = await openReference("search-signals", { javaScriptEnabled: false });
  assert.equal(await page.locator("#try").isVisible(), false);
  assert.equal(await page.getByText("curl -H").first().isVisible(), true);
});

for (const colorScheme of ["light", "dark"]) {
  test(`the form and its answer are accessible and fit a phone, ${colorScheme}`, async () => {
    const page = await openReference("search-signals", { viewport: PHONE, colorScheme });
    await page.getByText("More parameters").click();
    await send(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
    await assertAccessible(page, `the form, ${colorScheme}`);
  });
}
