// Who may not pass does not: wrong token, ended session, forged form, foreign script.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { openPage, signIn, startBrowser, startService } from "./fixture.mjs";

let service;
let browser;
before(async () => { service = await startService(); browser = await startBrowser(); });
after(async () => { await browser?.close(); await service?.stop(); });

test("a wrong token is refused and the right one leads on", async () => {
  const page = await openPage(browser, service);
  await page.goto(`${service.admin}/usage?counter=companies`);
  await page.getByLabel("Token").fill(service.token.slice(0, -1));
  await page.getByRole("button", { name: "Sign in" }).click();
  assert.equal(await page.getByRole("alert").innerText(), "Wrong token.");
  await page.getByLabel("Token").fill(service.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/usage?counter=companies");
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path, cookie.secure], [true, "Strict", "/", false]);
  assert.ok(cookie.expires > Date.now() / 1000 + 43000);
  assert.equal(await page.evaluate(() => document.cookie), "", "no script sees the session");
  page.assertClean([401]);
});

test("a session that has ended leads to the sign-in and back", async () => {
  const short = await startService({ session: 1 });
  const page = await openPage(browser, short);
  // The browser forgets the cookie in time; this one keeps it, as a thief would.
  await signIn(page, short);
  const [cookie] = await page.context().cookies();
  await new Promise((resolve) => setTimeout(resolve, 1200));
  await page.context().addCookies([{ ...cookie, expires: Date.now() / 1000 + 1000 }]);
  await page.goto(`${short.admin}/keys`);
  assert.equal(await page.getByRole("status").innerText(), "Your session has ended. Sign in again.");
  await page.getByLabel("Token").fill(short.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/keys");
  page.assertClean();
  await short.stop();
});

test("a new admin token ends the sessions of the old one", async () => {
  const other = await startService();
  const page = await openPage(browser, other);
  await signIn(page, other);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const token = other.run("admin-token").trim();
  await page.reload();
  assert.match(await page.getByRole("status").innerText(), /has ended/);
  await signIn(page, other);
  assert.equal(await page.getByRole("alert").innerText(), "Wrong token.");
  await signIn(page, other, token);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  page.assertClean([401]);
  await other.stop();
});

test("signing out ends the session on the server", async () => {
  const page = await openPage(browser, service);
  await signIn(page, service);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const [cookie] = await page.context().cookies();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-in");
  assert.deepEqual(await page.context().cookies(), []);
  const answer = await fetch(`${service.admin}/keys`, { redirect: "manual", headers: { cookie: `${cookie.name}=${cookie.value}` } });
  assert.equal(answer.status, 303);
  page.assertClean();
});

test("a form from another site makes no key", async () => {
  const page = await openPage(browser, service);
  await signIn(page, service);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const keys = service.run("keys", "list");
  const form = `<form method="post" action="${service.admin}/keys"><input name="name" value="forged">
    <input name="scope" value="signals:read"><input name="rate" value="1"><input name="burst" value="1"></form>
    <script>document.forms[0].submit()</script>`;
  const evil = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(form)).listen(0);
  await page.goto(`http://localhost:${evil.address().port}/`);
  await page.waitForURL(`${service.admin}/**`);
  assert.match(await page.locator("main").innerText(), /refused|Sign in/);
  assert.equal(service.run("keys", "list"), keys);
  evil.close();
});

test("a form of our own page with another token is refused", async () => {
  const page = await openPage(browser, service);
  await signIn(page, service);
  await page.goto(`${service.admin}/keys`);
  await page.getByLabel("Name").fill("forged");
  await page.evaluate(() => { for (const field of document.querySelectorAll("[name=form_token]")) field.value = "x".repeat(43); });
  await page.getByRole("button", { name: "Create key" }).click();
  assert.match(await page.locator("main").innerText(), /does not belong to this session/);
  assert.equal(service.run("keys", "list").includes("forged"), false);
  page.assertClean([403]);
});

test("nothing runs or loads that the page did not name", async () => {
  const page = await openPage(browser, service);
  await signIn(page, service);
  await page.goto(`${service.admin}/search?q=%22%3E%3Cscript%3Ewindow.stolen%3D1%3C%2Fscript%3E&limit=10`);
  assert.equal(await page.evaluate(() => window.stolen), undefined);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.stolen = 1";
    document.body.append(script);
    const image = new Image();
    image.src = "http://other.example/pixel.png";
    document.body.append(image);
  });
  assert.equal(await page.evaluate(() => window.stolen), undefined, "the policy stops scripts without the nonce");
});
