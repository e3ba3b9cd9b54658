// The page at a gateway, and at a server without one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Browser, PAGE } from "./page.mjs";

const PLAN = `[plan.enrich]
deadline = "2.5s"
[plan.enrich.defaults]
url = "http://127.0.0.1:9001/{branch}"
latency = "p50=0.8s,p95=1.5s,p99=2.4s"
[plan.enrich.branch]
type = {}
dates = {}
summary = { optional = true }
`;

const MEASURED = {
  file: { name: "enrich.toml", text: PLAN },
  since_s: 61,
  plans: [
    {
      name: "enrich",
      jobs: 300,
      quantiles_s: { p50: 1.01, p90: 1.5, p99: 2.5, "p99.9": null },
      complete: 0.97,
      partial: 0.01,
      failed: 0.02,
    },
  ],
};

/** A server of the page that says this of itself. */
async function serve(says) {
  const server = createServer((request, answer) => {
    const page = request.url === "/";
    answer.setHeader("Content-Type", page ? "text/html; charset=utf-8" : "application/json");
    answer.end(page ? readFileSync(PAGE) : JSON.stringify(says));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

let browser;
before(async () => (browser = await Browser.open({ offline: false })));
after(async () => {
  assert.deepEqual(browser.errors, []);
  assert.deepEqual(browser.requests, []);
  await browser.close();
});

test("at a gateway it shows what was measured beside what is predicted of the plans", async () => {
  const { address, close } = await serve(MEASURED);
  const page = await browser.page("", address);
  await page.waitForSelector("#served table");
  const rows = await page.$$eval("#served-figures tbody tr", (all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  assert.equal(rows.length, 2);
  assert.equal(rows[0][0], "enrich, predicted");
  assert.match(rows[0][1], /^\d\.\d\d s$|^\d{3} ms$/);
  assert.deepEqual(rows[1], [
    "enrich, measured over 300 jobs",
    "1.01 s",
    "1.50 s",
    "2.50 s",
    "–",
    "97.0 %",
    "1.0 %",
    "2.0 %",
  ]);
  await page.close();
  close();
});

test("a gateway that does not answer any more is said to, and its table keeps the focus", async () => {
  const { address, close } = await serve(MEASURED);
  const page = await browser.page("", address);
  await page.waitForSelector("#served table");
  await page.evaluate(() => {
    document.querySelector("#served .scroll").focus();
    globalThis.old = document.querySelector("#served table");
  });
  await page.waitForFunction(() => !globalThis.old.isConnected);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Predicted and measured");
  close();
  await page.waitForFunction(() => /^No answer since \d\d:\d\d:\d\d/.test(document.querySelector("#served .error").textContent));
  // The browser itself writes down that nobody answered.
  browser.errors = browser.errors.filter((text) => !text.includes("ERR_CONNECTION_REFUSED") && !text.includes("ERR_EMPTY"));
  await page.close();
});

/** Two branches that share one permit, so that each job meets those before it. */
const SHARED = `[limiter.llm]
gate = 1
[plan.pair]
[plan.pair.defaults]
limiter = "llm"
latency = "exponential:mean=100ms"
[plan.pair.branch]
left = {}
right = {}
[scenario]
arrivals = { every = "250ms" }
`;

test("jobs of plans that are served are shown as lanes, also where they matter to each other", async () => {
  const plans = [{ ...MEASURED.plans[0], name: "pair" }];
  const { address, close } = await serve({ ...MEASURED, file: { name: "pair.toml", text: SHARED }, plans });
  const page = await browser.page("", address);
  const lanes = "#figure-job-pair svg";
  await page.waitForSelector(lanes);
  const names = await page.$$eval(`${lanes} text`, (all) => all.map((text) => text.textContent));
  for (const name of ["left", "right"]) assert.ok(names.includes(name), `${name} in ${names}`);
  const first = await page.textContent(`${lanes} title`);
  await page.fill("#job", "2");
  await page.press("#job", "Enter");
  await page.waitForFunction(([lanes, first]) => document.querySelector(`${lanes} title`)?.textContent !== first, [
    lanes,
    first,
  ]);
  await page.close();
  close();
});

test("at a server without plans it shows none", async () => {
  const { address, close } = await serve(null);
  const page = await browser.page("", address);
  await page.waitForFunction(() =>
    performance.getEntriesByType("resource").some(({ name }) => name.endsWith("served.json")),
  );
  assert.equal(await page.isVisible("#served"), false);
  await page.close();
  close();
});
