// The service over time: charts with scripts, tables with bars without, on the overview and on a key's page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { askApi, assertAccessible, openSignedIn, overflow, PHONE, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

const signedIn = (options) => openSignedIn(browser, service, options);

for (const [name, options] of [
  ["a desk", {}],
  ["a phone", { viewport: PHONE }],
  ["a dark desk", { colorScheme: "dark" }],
]) {
  test(`on ${name} each chart has its figures in a table`, async () => {
    await askApi(service, "signals?limit=3");
    const page = await signedIn(options);
    for (const span of ["Last hour", "48 hours", "30 days", "13 months"]) {
      await page.getByRole("link", { name: span, exact: true }).click();
      await page.locator("[data-plots] canvas").first().waitFor();
      const charts = await page.getByRole("img", { name: /^Chart by/ }).count();
      assert.ok(charts >= 2, `${charts} charts`);
      await assertAccessible(page, span);
      assert.ok(await overflow(page) <= 0, `${span} is wider than the window`);
    }
    page.assertClean();
    await page.context().close();
  });
}

test("without scripts the tables with bars remain", async () => {
  await askApi(service, "signals?limit=3");
  const page = await signedIn({ javaScriptEnabled: false });
  assert.equal(await page.locator("canvas").count(), 0);
  const table = page.getByRole("region", { name: "Table of requests over time" });
  assert.equal(await table.locator("tbody tr").count(), 48);
  assert.ok(await table.locator(".bar").first().isVisible());
  page.assertClean();
});

test("charts follow the scheme of colours", async () => {
  await askApi(service, "signals?limit=3");
  const page = await signedIn({ colorScheme: "light" });
  const drawn = () => page.locator("[data-plots] canvas").first().evaluate((canvas) => canvas.toDataURL());
  const light = await drawn();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction((before) => document.querySelector("[data-plots] canvas")?.toDataURL() !== before, light);
  page.assertClean();
});
