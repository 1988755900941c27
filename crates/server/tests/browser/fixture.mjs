// A service, a browser, and a watch over both: no console error, no request to another host.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const PROGRAM = process.env.SIGNALDEX_PROGRAM ?? "target/release/signaldex";
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

// Without these, Chromium asks its maker's hosts for things at every start.
const QUIET = ["--disable-quic", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--no-first-run", "--disable-gpu"];

export const DESK = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

// Builds an index of records and returns its directory.
function build(directory, records) {
  const index = join(directory, "index");
  const files = Object.entries(records).flatMap(([kind, lines]) => {
    const file = join(directory, `${kind}.jsonl`);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return [`--${kind}`, file];
  });
  execFileSync(PROGRAM, ["build", ...files, "--out", index], { stdio: ["ignore", "ignore", "inherit"] });
  return index;
}

// Starts `signaldex serve` over the sample corpus, or over records, and reads what it says at its first start.
export async function startService({ session = 43200, records = null, options = [] } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "signaldex-browser-"));
  const index = records ? [build(directory, records)] : [];
  const state = join(directory, "state.db");
  const child = spawn(PROGRAM, ["serve", ...index, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
    // Every query counts as slow, so that the page of slow queries has some.
    "--slow-query-time", "0.000001",
    "--state", state, "--admin-session", String(session), "--log", "warn", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const said = { key: null, admin: null, token: null, api: null };
  for await (const line of createInterface({ input: child.stdout })) {
    said.key ??= line.match(/Bearer (sdx_[\w-]+)/)?.[1];
    said.api ??= line.match(/'(http:\/\/[^/]+)\/api/)?.[1];
    said.admin ??= line.match(/Dashboard .* (http:\/\/[^/]+)\//)?.[1];
    said.token ??= line.match(/^(sdxadmin_[\w-]+)$/)?.[1];
    if (said.token) break;
  }
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    rmSync(directory, { recursive: true });
  };
  const run = (...words) => execFileSync(PROGRAM, [...words, "--state", state], { encoding: "utf8" });
  const kill = () => child.kill("SIGKILL");
  return { ...said, state, run, stop, kill };
}

export function startBrowser() {
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath: CHROMIUM, args: root ? [...QUIET, "--no-sandbox"] : QUIET });
}

// A page that notes what no page of ours may do.
export async function openPage(browser, service, options = {}) {
  const context = await browser.newContext({ viewport: DESK, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: service.admin });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const errors = [];
  const foreign = [];
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== service.admin) foreign.push(request.url());
  });
  page.assertClean = (allowed = []) => {
    const isAllowed = (text) => allowed.some((status) => text.includes(`status of ${status}`));
    assert.deepEqual(errors.filter((text) => !isAllowed(text)), [], "console errors");
    assert.deepEqual(foreign, [], "requests to other hosts");
  };
  return page;
}

export async function signIn(page, service, token = service.token) {
  await page.goto(`${service.admin}/sign-in`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

// Accessibility by axe-core: nothing that it calls serious or critical, and in fact nothing at all.
// It is evaluated from outside, so the policy of the page stays as it is.
export async function assertAccessible(page, what) {
  await page.evaluate(await axeSource());
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  const found = violations.map(({ id, impact, nodes }) =>
    `${what}: ${id} (${impact}) at ${nodes.map((node) => node.target).join("; ")}`);
  assert.deepEqual(found, []);
}

// A name that is markup, has quotes and is long.
export const HOSTILE = `<img src=x onerror=alert(1)>"'&${"x".repeat(120)}`;

// How many pixels a page is wider than the window.
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

// A page that has signed in and shows the overview.
export async function openSignedIn(browser, service, { token, ...options } = {}) {
  const page = await openPage(browser, service, options);
  await signIn(page, service, token);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

export async function assertFits(page, what) {
  await assertAccessible(page, what);
  assert.ok(await overflow(page) <= 0, `${what} is wider than the window`);
}

let axe;
async function axeSource() {
  const { readFile } = await import("node:fs/promises");
  axe ??= await readFile(AXE, "utf8");
  return axe;
}

// The data of an answer of the API.
export async function askApi(service, path) {
  const answer = await fetch(`${service.api}/api/v1/${path}`, { headers: { authorization: `Bearer ${service.key}` } });
  assert.equal(answer.status, 200, path);
  return (await answer.json()).data;
}

// The number of matches that a page shows.
export const shownCount = async (page) => Number((await page.locator("#count").innerText()).replaceAll(",", ""));
