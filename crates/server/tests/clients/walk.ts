// A walk, a count, a detail and each error, by the client that openapi-typescript and openapi-fetch make.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";

type Problem = components["schemas"]["Problem"];
declare const process: { env: Record<string, string | undefined> };

const setting = (name: string): string => process.env[name] ?? "";
const client = (key: string) => createClient<paths>({
  baseUrl: setting("SIGNALDEX_URL"),
  headers: { Authorization: `Bearer ${setting(key)}` },
  // As the document says: one value, items separated by commas.
  querySerializer: { array: { style: "form", explode: false } },
});

function assertEqual(found: unknown, expected: unknown, what: string): void {
  if (found !== expected) throw new Error(`${what}: ${found} instead of ${expected}`);
}

// Runs with the types alone: `error` is a Problem wherever the document declares one.
function assertProblem(error: Problem | undefined, status: number, code: Problem["code"]): void {
  assertEqual(error?.status, status, code);
  assertEqual(error?.code, code, `status ${status}`);
}

const api = client("SIGNALDEX_KEY");
const filters = { categories: ["funding", "hiring"], country: "Germany", size: "501+" } as const;
const query = { ...filters, categories: [...filters.categories] };

const counted = await api.GET("/api/v1/signals", { params: { query: { ...query, countOnly: true } } });
const total = counted.data?.data.count ?? 0;
let seen = 0;
let cursor: string | undefined;
do {
  const { data, response } = await api.GET("/api/v1/signals", { params: { query: { ...query, limit: 4, cursor } } });
  assertEqual(response.headers.get("x-usage-charged"), String(data?.data.items.length), "charged");
  seen += data?.data.items.length ?? 0;
  cursor = data?.data.nextCursor ?? undefined;
} while (cursor !== undefined);
assertEqual(seen, total, "signals of the walk");
assertEqual(seen > 4, true, "the walk has several pages");

const ids = ["7477456168553964859", "7471864829972502442"];
const named = await api.GET("/api/v1/signals", { params: { query: { ids } } });
assertEqual(named.data?.data.items.length, 2, "signals by id");
const path = { id: "7477456168553964859" };
const detail = await api.GET("/api/v1/signals/{id}", { params: { path } });
assertEqual(detail.data?.data.company.country, "Brazil", "country");
const slug = detail.data?.data.companySlug ?? "";
const company = await api.GET("/api/v1/companies/{slug}", { params: { path: { slug } } });
assertEqual(company.data?.data.name, detail.data?.data.companyName, "company");
const options = await api.GET("/api/v1/filter-options", { params: { query: { categories: ["funding"] } } });
assertEqual((options.data?.data.countries?.length ?? 0) > 1, true, "countries");
assertEqual((await api.GET("/healthz")).data?.status, "ok", "health");
assertEqual((await api.GET("/readyz")).data?.status, "ready", "readiness");

const invalid = await api.GET("/api/v1/signals", { params: { query: { limit: 51 } } });
assertProblem(invalid.error, 400, "invalid_request");
assertEqual(invalid.error?.errors?.[0]?.code, "invalid_value", "error of the parameter");
assertProblem((await client("NO_KEY").GET("/api/v1/signals")).error, 401, "unauthorized");
assertProblem((await client("POOR_KEY").GET("/api/v1/signals")).error, 402, "quota_exceeded");
const forbidden = await client("POOR_KEY").GET("/api/v1/companies/{slug}", { params: { path: { slug } } });
assertProblem(forbidden.error, 403, "forbidden");
const missing = await api.GET("/api/v1/signals/{id}", { params: { path: { id: "1" } } });
assertProblem(missing.error, 404, "not_found");
const long = await api.GET("/api/v1/signals", { params: { query: { companies: Array(50).fill("x".repeat(1300)) } } });
assertProblem(long.error, 414, "invalid_request");
const name = { header: { "Idempotency-Key": "typescript-walk" } };
await api.GET("/api/v1/signals", { params: { ...name, query: { limit: 1 } } });
const reused = await api.GET("/api/v1/signals", { params: { ...name, query: { limit: 2 } } });
assertProblem(reused.error, 422, "idempotency_key_reused");
const slow = client("SLOW_KEY");
await slow.GET("/api/v1/filter-options");
assertProblem((await slow.GET("/api/v1/filter-options")).error, 429, "rate_limited");
console.log(`TypeScript: ${seen} signals walked, every error as documented`);
