// The pictures of the documents, and every page at two widths, light and dark, to be looked at.
//
// usage: node screenshots.mjs FOLDER [documents]
//
// With `documents`, only the pictures that the README shows are made.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { DESK, PHONE, openPage, signIn, startBrowser, startService } from "./fixture.mjs";

const [folder = "screenshots", only] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

const service = await startService();
process.on("exit", service.kill);
const browser = await startBrowser();

const make = (...words) => JSON.parse(service.run("keys", "create", ...words));
const shop = make("--name", "Shop search", "--quota-signals", "250000", "--quota-activities", "5000");
const partner = make("--name", "Partner feed", "--scopes", "signals:read", "--rate", "5", "--burst", "20", "--expires", "2027-06-30");
const old = make("--name", "Trial of May");
service.run("keys", "revoke", old.id);
const saved = JSON.parse(service.run("searches", "create", "--key", partner.id, "--name", "Robots in Germany",
  "--query", "q=robotics&country=Germany", "--webhook", "https://hooks.example/signals"));

// A history of months, which no service could make in a moment.
execFileSync("python3", ["-c", `
import sqlite3, sys, datetime
state = sqlite3.connect(sys.argv[1])
today = datetime.date.today()
for place, (key, base) in enumerate([(sys.argv[2], 9000), (sys.argv[3], 4200), (sys.argv[4], 900)]):
    number = state.execute("SELECT number FROM keys WHERE id = ?", (key,)).fetchone()[0]
    for ago in range(11, -1, -1):
        if key == sys.argv[4] and not 4 < ago < 9:
            continue
        year, month = divmod(today.year * 12 + today.month - 1 - ago, 12)
        units = base + (11 - ago) * base // 9 + (ago * 7919 * (place + 3)) % (base // 2)
        state.execute("INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?)",
            (number, year * 100 + month + 1, units, units // 23, units // 61, units // 97))
    for ago in range(29, -1, -1):
        if key == sys.argv[4]:
            continue
        day = today - datetime.timedelta(days=ago)
        units = base // 25 + (ago * 7919 * (place + 3)) % (base // 20)
        state.execute("INSERT INTO usage_days VALUES (?, ?, ?, ?, ?, ?)",
            (day.toordinal() + 1721425, number, units, units // 23, units // 61, units // 97))
        for endpoint, status, part in [("search", 200, 20), ("search", 304, 90), ("search", 400, 900), ("search", 402, 1500),
                                       ("search", 429, 700), ("signal", 200, 60), ("signal", 404, 1100), ("company", 200, 90), ("filter-options", 200, 70)]:
            state.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?)", (day.toordinal() + 1721425, number, endpoint, status, max(1, units // part)))
state.commit()
`, service.state, shop.id, partner.id, old.id]);

for (const query of ["q=series+a&country=Germany&limit=50", "exact=machine learning", "categories=funding,hiring&days=90", "q=raises&countOnly=true", "any=robotics climate&size=1-49&dateRanges=older"]) {
  const address = `${service.api}/api/v1/signals?${query}`;
  await fetch(address, { headers: { authorization: `Bearer ${shop.key}` } });
}
const found = await fetch(`${service.api}/api/v1/signals?q=%22series+a%22&limit=1`, { headers: { authorization: `Bearer ${partner.key}` } });
const [signal] = (await found.json()).data.items;
for (const path of ["signals/1", "signals?contry=x", `companies/${signal.companySlug}`]) {
  await fetch(`${service.api}/api/v1/${path}`, { headers: { authorization: `Bearer ${shop.key}` } });
}
await fetch(`${service.api}/api/v1/signals`);

const SEARCH = "/search?country=Germany&size=101-500&days=90&limit=10";

const SHOWN = ["search-desk-light", "search-phone-dark", "usage-desk-light", "usage-phone-dark", "keys-desk-light"];

async function shoot(page, name, path, prepare = async () => {}) {
  if (only === "documents" && !SHOWN.includes(name)) return;
  await page.goto(service.admin + path);
  await prepare(page);
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: only !== "documents" });
}

const wanted = only === "documents"
  ? [["desk-light", { viewport: { width: 1280, height: 860 }, colorScheme: "light" }], ["phone-dark", { viewport: PHONE, colorScheme: "dark", deviceScaleFactor: 1.5 }]]
  : ["light", "dark"].flatMap((colorScheme) => [
      [`desk-${colorScheme}`, { viewport: DESK, colorScheme }],
      [`phone-${colorScheme}`, { viewport: PHONE, colorScheme }],
    ]);

for (const [kind, options] of wanted) {
  const page = await openPage(browser, service, options);
  await shoot(page, `sign-in-${kind}`, "/sign-in");
  await signIn(page, service);
  await page.waitForURL(`${service.admin}/`);
  await shoot(page, `overview-${kind}`, "/");
  await shoot(page, `search-${kind}`, SEARCH);
  await shoot(page, `keys-${kind}`, "/keys");
  await shoot(page, `searches-${kind}`, "/searches");
  await shoot(page, `saved-search-${kind}`, `/searches/edit?id=${saved.id}`);
  await shoot(page, `usage-${kind}`, "/usage");
  await shoot(page, `usage-days-${kind}`, `/usage?by=day&key=${shop.id}`);
  await shoot(page, `requests-${kind}`, "/requests");
  await shoot(page, `storage-${kind}`, "/storage");
  await shoot(page, `key-${kind}`, `/keys/edit?id=${partner.id}`);
  await shoot(page, `signal-${kind}`, `/signals/${signal.id}`);
  await shoot(page, `company-${kind}`, `/companies/${signal.companySlug}`);
  await shoot(page, `slow-${kind}`, "/slow?plan=0");
  if (only !== "documents") {
    await shoot(page, `search-open-${kind}`, `${SEARCH}&fundingMin=1000&dateFrom=2025-01-01&jobFunction=data`, async (page) => {
      await page.evaluate(() => { for (const group of document.querySelectorAll("details")) group.open = true; });
    });
    await page.goto(`${service.api}/docs`);
    await page.screenshot({ path: `${folder}/docs-${kind}.png`, fullPage: true });
    await shoot(page, `search-error-${kind}`, "/search?q=-&days=8&contry=x&limit=10");
    await shoot(page, `search-nothing-${kind}`, "/search?q=zebra&limit=10");
    await shoot(page, `key-made-${kind}`, "/keys", async (page) => {
      await page.getByLabel("Name").fill("A new client");
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByText("Key created").waitFor();
    });
    await shoot(page, `key-errors-${kind}`, "/keys", async (page) => {
      await page.getByLabel("Requests per second").fill("0");
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("alert").waitFor();
    });
  }
  await page.context().close();
}

await browser.close();
await service.stop();
