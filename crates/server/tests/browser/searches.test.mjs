// Saved searches and their webhooks: an admin saves, tries, rotates, pauses and deletes them, a viewer sees them.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { assertFits, HOSTILE, openSignedIn, PHONE, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
let receiver;
let events;
before(async () => {
  events = [];
  receiver = createServer((request, answer) => {
    events.push(request.headers["webhook-id"]);
    request.resume();
    answer.statusCode = request.url === "/gone" ? 410 : 200;
    answer.end("<b>heard</b>");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => receiver.once("listening", resolve));
  service = await startService({ options: ["--webhook-http", "--webhook-allow", "127.0.0.0/8"] });
  browser = await startBrowser();
});
after(async () => { await browser?.close(); await service?.stop(); receiver?.close(); });

const QUERY = "q=robotics&country=Germany";
const url = (path) => `http://127.0.0.1:${receiver.address().port}${path}`;
const makeKey = (name) => JSON.parse(service.run("keys", "create", "--name", name)).id;

const signedIn = (token, options) => openSignedIn(browser, service, { token, ...options });

// Loads a page again until it says something.
async function reloadUntil(page, text) {
  for (let tries = 0; tries < 60; tries += 1) {
    if ((await page.locator("main").innerText()).includes(text)) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
    await page.goto(page.url().split("#")[0]);
  }
  assert.fail(`no ${text} in ${await page.locator("main").innerText()}`);
}

async function save(page, { name, webhook = "", begins = "now", query = QUERY }) {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Query").fill(query);
  await page.getByLabel("Webhook", { exact: true }).fill(webhook);
  await page.getByLabel("Begins").fill(begins);
  await page.getByRole("button", { name: "Save search" }).click();
}

test("an admin saves a search with a webhook, which gets its matches, a test and a new secret", async () => {
  const page = await signedIn();
  const key = makeKey(HOSTILE);
  await page.getByRole("link", { name: "Saved searches", exact: true }).click();
  const nav = page.locator("nav[aria-label=Pages] ul");
  assert.ok(await nav.evaluate((list) => list.scrollWidth <= list.clientWidth), "all pages are in view");
  await page.getByLabel("Key").selectOption(key);
  await page.getByRole("button", { name: "Show" }).click();
  await save(page, { name: "", webhook: "ftp://x", begins: "soon", query: "contry=Japan&limit=5" });
  for (const field of ["name", "query", "webhook", "since"]) {
    assert.ok(await page.locator(`#${field}-error`).isVisible(), `${field} is marked`);
  }
  await assertFits(page, "a form with faults");
  await save(page, { name: HOSTILE, webhook: url("/in"), begins: "start" });
  const first = await page.locator("#new-secret").innerText();
  assert.match(first, /^whsec_/);
  await page.getByRole("button", { name: "Copy secret" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), first);
  await assertFits(page, "a search with a new secret");
  await reloadUntil(page, "current");
  assert.equal(await page.locator("#new-secret").count(), 0, "shown once");
  assert.ok(events.length > 0 && await page.locator("table.log tbody tr").count() > 0, "the log has the attempt");
  await assertFits(page, "a search with a log");

  await page.getByRole("button", { name: "Send a test event" }).click();
  const heard = page.getByRole("region", { name: "The first bytes of the answer" });
  assert.equal(await heard.innerText(), "<b>heard</b>");
  assert.match(await page.getByRole("status").innerText(), /^200 after/);
  await assertFits(page, "the answer to a test");
  await page.getByLabel("The present secret works for").selectOption("1");
  await page.getByRole("button", { name: "Rotate the secret" }).click();
  assert.notEqual(await page.locator("#new-secret").innerText(), first);
  await page.getByRole("button", { name: "Pause" }).click();
  assert.match(await page.locator(".head .badge").innerText(), /paused/);
  await page.getByRole("button", { name: "Resume from now" }).click();
  assert.match(await page.getByRole("status").innerText(), /0 commits are skipped/);
  await page.getByLabel("Webhook", { exact: true }).fill("");
  await page.getByRole("button", { name: "Save settings" }).click();
  assert.match(await page.locator(".pairs").innerText(), /the key pulls the matches/);
  await page.getByRole("button", { name: "Delete" }).click();
  assert.match(await page.locator("main").innerText(), /No saved searches yet/);

  await page.getByRole("link", { name: "Audit", exact: true }).click();
  const actions = (await page.locator("td:nth-child(3)").allInnerTexts()).filter((name) => name.startsWith("searches"));
  assert.deepEqual(actions, ["searches.delete", "searches.edit", "searches.resume", "searches.pause", "searches.rotate", "searches.create"]);
  page.assertClean([400]);
});

test("a receiver that is gone disables its webhook, and the overview says so", async () => {
  const page = await signedIn();
  await page.goto(`${service.admin}/searches?key=${makeKey("gone")}`);
  await save(page, { name: "gone", webhook: url("/gone"), begins: "start" });
  await reloadUntil(page, "disabled");
  await assertFits(page, "a disabled search");
  await page.goto(`${service.admin}/`);
  await page.getByRole("link", { name: "1 webhook is disabled" }).click();
  assert.equal(await page.locator("table.searches tbody tr").count(), 1);
  await assertFits(page, "disabled searches");
  page.assertClean();
});

test("at each width, in the dark and for a viewer the pages fit and offer what they may", async () => {
  const key = makeKey(HOSTILE);
  const search = JSON.parse(service.run("searches", "create", "--key", key, "--name", HOSTILE, "--query", QUERY,
    "--webhook", url(`/${"y".repeat(300)}`), "--webhook-http", "--webhook-allow", "127.0.0.0/8")).id;
  const viewer = service.run("people", "add", "watcher", "--role", "viewer").match(/sdxadmin_[\w-]+/)[0];
  const paths = ["/searches", `/searches?key=${key}`, "/searches?find=nobody", `/searches/edit?id=${search}`, `/keys/edit?id=${key}`];
  for (const token of [undefined, viewer]) {
    for (const options of [undefined, { colorScheme: "dark" }, { viewport: PHONE }, { viewport: PHONE, colorScheme: "dark" }]) {
      const page = await signedIn(token, options);
      for (const path of paths) {
        await page.goto(service.admin + path);
        await assertFits(page, `${path} for ${token ? "a viewer" : "an admin"}`);
        const forms = await page.locator("form[method=post] button:visible").count();
        if (token) assert.equal(forms, 1, `${path} offers only to sign out`);
      }
      page.assertClean();
      await page.context().close();
    }
  }
});

test("without scripts everything works", async () => {
  const page = await signedIn(undefined, { javaScriptEnabled: false });
  await page.goto(`${service.admin}/search?q=robotics&limit=10&key=${makeKey("plain")}`);
  await page.getByRole("link", { name: "Save this search" }).click();
  assert.equal(await page.getByLabel("Query").inputValue(), "all=robotics");
  await save(page, { name: "plain", webhook: url("/in") });
  assert.match(await page.locator("#new-secret").innerText(), /^whsec_/);
  for (const name of ["Send a test event", "Pause", "Resume", "Rotate the secret", "Save settings", "Delete"]) {
    const button = page.getByRole("button", { name, exact: name !== "Delete" });
    await button.click();
  }
  assert.match(await page.locator("main").innerText(), /No saved searches yet/);
  page.assertClean();
});
