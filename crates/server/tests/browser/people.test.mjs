// People and the audit: an admin adds a viewer, who sees everything and changes nothing.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertFits, HOSTILE, openSignedIn, PHONE, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

const signedIn = (token, options) => openSignedIn(browser, service, { token, ...options });

test("an admin adds a person with a hostile name, changes the role and revokes", async () => {
  const page = await signedIn();
  await page.getByRole("link", { name: "People", exact: true }).click();
  const nav = page.locator("nav[aria-label=Pages] ul");
  assert.ok(await nav.evaluate((list) => list.scrollWidth <= list.clientWidth), "all pages are in view");
  await page.getByLabel("Name").fill(HOSTILE);
  await page.getByLabel("Role").selectOption("viewer");
  await page.getByRole("button", { name: "Add person" }).click();
  const token = await page.locator("#new-token").innerText();
  assert.match(token, /^sdxadmin_[\w-]{43}$/);
  await assertFits(page, "people with a new token");
  await page.reload();
  assert.equal(await page.locator("#new-token").count(), 0, "shown once");

  for (const options of [undefined, { viewport: PHONE }, { javaScriptEnabled: false }]) {
    const viewer = await signedIn(token, options);
    for (const path of ["/", "/keys", "/searches", "/usage", "/requests", "/people", "/audit"]) {
      await viewer.goto(`${service.admin}${path}`);
      assert.equal(await viewer.locator("form[method=post]").count(), 1, `${path} offers only to sign out`);
      if (options?.javaScriptEnabled !== false) await assertFits(viewer, `${path} for a viewer`);
    }
    viewer.assertClean();
    await viewer.context().close();
  }

  const viewer = await signedIn(token);
  await page.getByRole("row", { name: /onerror/ }).getByRole("link", { name: "Edit" }).click();
  await assertFits(page, "a person");
  await page.getByRole("combobox", { name: "Role" }).selectOption("admin");
  await page.getByRole("button", { name: "Save role" }).click();
  await viewer.goto(`${service.admin}/keys`);
  await viewer.getByRole("button", { name: "Create key" }).waitFor();
  await page.getByRole("button", { name: "Revoke" }).click();
  await viewer.reload();
  assert.match(await viewer.getByRole("status").innerText(), /has ended/);

  await page.getByRole("link", { name: "Audit", exact: true }).click();
  const actions = await page.locator("td:nth-child(3)").allInnerTexts();
  assert.deepEqual(actions.slice(0, 3), ["people.revoke", "people.role", "people.add"]);
  await assertFits(page, "the audit");
  page.assertClean();
});

test("on a phone the pages of people and of the audit fit", async () => {
  const page = await signedIn(undefined, { viewport: PHONE });
  for (const path of ["/people", "/people/edit?name=admin", "/audit", "/audit?find=nothing"]) {
    await page.goto(`${service.admin}${path}`);
    await assertFits(page, path);
  }
  page.assertClean();
});
