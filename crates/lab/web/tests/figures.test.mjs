// What the page says, held against the command, against known figures, and against itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser, fantail, frame, settled, shown, value } from "./page.mjs";

let browser;
before(async () => (browser = await Browser.open()));
after(async () => {
  assert.deepEqual(browser.errors, []);
  await browser.close();
});

const LAW = "lognormal:median=1s,sigma=0.6";

test("sixteen workers raise the median from 1.00 s to 2.81 s and one job in seven meets a slowest call", async () => {
  const page = await browser.page("n=1");
  assert.equal(await shown(page, "exact-p50"), "1.00 s");
  await page.fill("#n", "16");
  await page.press("#n", "Enter");
  await settled(page, "n=16");
  assert.equal(await shown(page, "exact-p50"), "2.81 s");
  assert.equal(await shown(page, "exact-slowest"), "14.9 %");
  await page.close();
});

test("the first five of eight bring p99 from 6.13 s to 2.02 s", async () => {
  const page = await browser.page();
  assert.equal(await shown(page, "exact-p99"), "6.13 s");
  await page.check("input[value=first]");
  await settled(page, "strategy=first");
  assert.equal(await shown(page, "exact-p99"), "2.02 s");
  await page.close();
});

test("copies after p95 start at 2.68 s and bring p99 to 4.40 s", async () => {
  const page = await browser.page("strategy=hedge");
  assert.equal(await shown(page, "exact-p99"), "4.40 s");
  assert.equal(await shown(page, "exact-requests"), "+5.0 %");
  assert.equal(await shown(page, "exact-p50"), "2.30 s");
  assert.match(await page.textContent("#figure-job .rule.hedge text"), /2\.68 s/);
  await page.close();
});

test("the text on how it works has the chances of 8, 16 and 100 workers", async () => {
  const page = await browser.page("n=3");
  assert.deepEqual(await Promise.all([8, 16, 100].map((n) => shown(page, `slowest-${n}`))), [
    "7.7 %",
    "14.9 %",
    "63.4 %",
  ]);
  await page.close();
});

const STATES = [
  ["", ["-n", "8", "--latency", LAW, "--strategy", "all"]],
  ["strategy=hedge&n=16", ["-n", "16", "--latency", LAW, "--strategy", "hedge:p95"]],
  ["strategy=first&n=100&k=90", ["-n", "100", "--latency", LAW, "--strategy", "first:90"]],
  ["strategy=race&r=3&n=1000", ["-n", "1000", "--latency", LAW, "--strategy", "race:3"]],
  [
    "strategy=first:5+hedge:p90+deadline:2.5s&required=2&at-least=3",
    [
      "-n",
      "8",
      "--latency",
      LAW,
      "--strategy",
      "first:5+hedge:p90+deadline:2.5s",
      "--required",
      "2",
      "--at-least",
      "3",
    ],
  ],
  [
    "n=5&latency=p50=0.8s,p95=1.5s,p99=2.4s&deadline=2.5s&required=3",
    ["-n", "5", "--latency", "p50=0.8s,p95=1.5s,p99=2.4s", "--strategy", "all+deadline:2.5s", "--required", "3"],
  ],
  [
    "strategy=hedge&rho-job=0.2&rho-branch=0.3",
    ["-n", "8", "--latency", LAW, "--strategy", "hedge:p95", "--rho", "job=0.2,branch=0.3"],
  ],
];

for (const [hash, args] of STATES) {
  test(`page and command print the same bits: ${args.join(" ")}`, async () => {
    const page = await browser.page(hash);
    const { strategies } = fantail("predict", ...args);
    const expected = {
      p50: strategies[0].quantiles_s.p50,
      p90: strategies[0].quantiles_s.p90,
      p99: strategies[0].quantiles_s.p99,
      p999: strategies[0].quantiles_s["p99.9"],
      mean: strategies[0].mean_s,
      complete: strategies[0].complete,
      requests: strategies[0].extra_requests,
      busy: strategies[0].extra_busy,
      copy: strategies[0].sends_copy,
      slowest: strategies[0].slowest_percent,
      ...(strategies[0].complete !== 1 && { partial: strategies[0].partial, failed: strategies[0].failed }),
    };
    for (const [name, exact] of Object.entries(expected)) {
      const figure = await page.$eval(`#exact-${name}`, (data) => (data.value === "" ? null : Number(data.value)));
      assert.equal(figure, exact, name);
    }
    await page.close();
  });
}

for (const [hash, strategy] of [
  ["seed=7", "all"],
  ["seed=7&strategy=hedge", "hedge:p95"],
  ["seed=7&strategy=first&deadline=1.2s&at-least=2", "first:5+deadline:1.2s"],
]) {
  test(`page and command play the same runs: ${strategy}`, async () => {
    const page = await browser.page(hash);
    await page.click("#run-many");
    await page.waitForFunction(() => document.querySelector("#simulated")?.textContent.includes("2,000 runs"));
    const held = hash.includes("at-least") ? ["--at-least", "2"] : [];
    const { plans } = fantail(
      "simulate",
      "-n",
      "8",
      "--latency",
      LAW,
      "--strategy",
      strategy,
      "--jobs",
      "2000",
      "--seed",
      "7",
      ...held,
    );
    const [plan] = plans;
    assert.equal(await value(page, "simulated-p50"), plan.quantiles_s.p50);
    assert.equal(await value(page, "simulated-p99"), plan.quantiles_s.p99);
    assert.equal(await value(page, "simulated-mean"), plan.mean_s);
    assert.equal(await value(page, "simulated-complete"), plan.complete);
    assert.equal(await value(page, "simulated-requests"), plan.extra_requests);
    await page.close();
  });
}

test("page and command play the same documents, against an account that turns calls away", async () => {
  const page = await browser.page();
  await page.locator("#calls").scrollIntoViewIfNeeded();
  await page.waitForSelector("#figure-document-bounded svg", { timeout: 60_000 });
  const { plans } = fantail(
    "simulate",
    fileURLToPath(new URL("../../../../examples/ingestion.toml", import.meta.url)),
    "--jobs",
    "10000",
    "--seed",
    "7",
  );
  for (const plan of plans) {
    assert.equal(await value(page, `calls-p50-${plan.name}`), plan.quantiles_s.p50);
    assert.equal(await value(page, `calls-p99-${plan.name}`), plan.quantiles_s.p99);
    assert.equal(await value(page, `calls-failed-${plan.name}`), plan.failed);
    assert.equal(await value(page, `calls-rejected-${plan.name}`), plan.rejected_429_jobs);
  }
  assert.equal(plans.length, 3);
  await page.close();
});

/** The times of the primaries that answered, by branch. */
const lanes = (page) =>
  page.$$eval("#figure-job table tbody tr", (rows) => {
    const cells = rows.map((row) => [...row.cells].map((cell) => cell.textContent));
    return Object.fromEntries(
      cells
        .filter(([, , role, , , became]) => role === "primary" && became === "answered")
        .map(([branch, , , , ended]) => [branch, ended]),
    );
  });

test("a seed draws the same sixteen times whatever the strategy", async () => {
  const page = await browser.page("n=16&seed=11&job=4");
  await page.click("#figure-job summary");
  await frame(page);
  const all = await lanes(page);
  assert.equal(Object.keys(all).length, 16);
  for (const kind of ["first", "hedge", "race"]) {
    await page.check(`input[value=${kind}]`);
    await settled(page, `strategy=${kind}`);
    const some = await lanes(page);
    assert.ok(Object.keys(some).length > 0, kind);
    for (const [branch, time] of Object.entries(some)) assert.equal(time, all[branch], `${kind}, branch ${branch}`);
  }
  await page.close();
});

test("the command that is copied prints what is shown", async () => {
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await browser.page("strategy=first:5+hedge:p90&n=12&required=2&rho-job=0.1");
  await page.click("#copy-predict");
  await page.waitForFunction(() => document.querySelector("#live")?.textContent === "Command copied");
  const line = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(
    line,
    /^fantail predict -n 12 --latency lognormal:median=1s,sigma=0\.6 --strategy first:5\+hedge:p90 /,
  );
  const { strategies } = fantail(...line.split(" ").slice(1));
  assert.equal(await value(page, "exact-p99"), strategies[0].quantiles_s.p99);
  await page.click("#copy-link");
  await page.waitForFunction(() => document.querySelector("#live")?.textContent === "Link copied");
  assert.match(
    await page.evaluate(() => navigator.clipboard.readText()),
    /#strategy=own&own=first:5\+hedge:p90&n=12&required=2&rho-job=0\.1$/,
  );
  await page.close();
});

test("ten runs of a thousand decide p99, so it wobbles, within the band that is expected", async () => {
  const page = await browser.page("strategy=hedge");
  const found = [];
  for (let batch = 2; batch <= 4; batch++) {
    await page.click("#run-many");
    await page.waitForFunction(
      (runs) => document.querySelector("#simulated")?.textContent.includes(`${runs},000 runs`),
      batch,
    );
    found.push(await value(page, "batch-p99"));
  }
  assert.equal(new Set(found).size, 3);
  // 95 % of such batches lie within 4.20 and 4.79; far more than all within these.
  for (const p99 of found) assert.ok(p99 > 3.9 && p99 < 5.3, String(p99));
  await page.close();
});
