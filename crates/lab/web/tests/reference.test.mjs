// Every readout against values that were computed with sixty digits, through the page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Browser } from "./page.mjs";

const ROWS = new URL("../../../model/tests/reference/exact.csv", import.meta.url);

/** A job's means are sums over a grid; copies start at whole nanoseconds. */
const CLOSE = 1e-9;

const QUANTILES = { 0.5: "p50", 0.9: "p90", 0.99: "p99", 0.999: "p999" };

/** The law in the page's words; `null` where the row has another one. */
function law({ family, mu, sigma, rate, shape, scale, alpha, beta, xm }) {
  switch (family) {
    case "lognormal":
      return mu === "0" ? `lognormal:median=1s,sigma=${sigma}` : null;
    case "exponential":
      return rate === "1" ? "exponential:mean=1s" : null;
    case "weibull":
    case "gamma":
      return `${family}:shape=${shape},scale=${scale}s`;
    case "loglogistic":
      return `loglogistic:alpha=${alpha}s,beta=${beta}`;
    case "pareto":
      return `pareto:xm=${xm}s,alpha=${alpha}`;
    default:
      return null;
  }
}

/** The state of the page that a row is about; `null` for what it can't be asked. */
function state(section, row) {
  const n = row.n ?? row.k ?? (row.required ?? NaN) + (row.optional ?? NaN);
  const latency = law(row);
  if (!latency || !(n >= 1 && n <= 1_000)) return null;
  const base = `n=${n}&latency=${latency}`;
  switch (section) {
    case "max":
      return row.x === undefined ? base : null;
    case "orderstat":
      return `${base}&strategy=first&k=${row.j}`;
    case "hedge_at_once":
      return `${base}&strategy=race&r=${row.r}`;
    case "hedge_after":
      return `${base}&strategy=hedge&after=p${Number((100 * row.hedge_after_quantile).toPrecision(6))}`;
    case "deadline":
      return row.required === undefined ? null : `${base}&deadline=${row.deadline}s&required=${row.required}`;
    default:
      return null;
  }
}

/** The readout that a row is about; `null` for what the page does not show. */
function readout(quantity, { p }) {
  if (quantity === "quantile") return QUANTILES[p] ?? null;
  return (
    { mean: "mean", complete: "complete", partial: "partial", fail: "failed", job_hedge_prob: "copy" }[quantity] ??
    null
  );
}

/** Lines of a CSV file with quoted cells. */
function* rows(text) {
  for (const line of text.split("\n").slice(1)) {
    const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain,
    );
    if (cells.length === 5)
      yield {
        section: cells[0].split("/")[0],
        row: JSON.parse(cells[2]),
        quantity: cells[3],
        value: Number(cells[4]),
      };
  }
}

const expected = new Map();
for (const { section, row, quantity, value } of rows(readFileSync(ROWS, "utf8"))) {
  const hash = state(section, row);
  const name = readout(quantity, row);
  if (hash && name) expected.set(hash, [...(expected.get(hash) ?? []), { name, value }]);
}

let browser;
before(async () => (browser = await Browser.open()));
after(async () => {
  assert.deepEqual(browser.errors, []);
  await browser.close();
});

test("every readout is the value that sixty digits give", async () => {
  const page = await browser.page();
  let checked = 0;
  const wrong = [];
  for (const [hash, figures] of expected) {
    const shown = await page.evaluate(async (hash) => {
      location.hash = hash;
      for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
      return Object.fromEntries(
        [...document.querySelectorAll(".figures data")].map(({ id, value }) => [
          id.replace("exact-", ""),
          Number(value),
        ]),
      );
    }, hash);
    for (const { name, value } of figures) {
      checked++;
      const error = Math.abs(shown[name] - value) / Math.max(Math.abs(value), Number.MIN_VALUE);
      if (!(error <= CLOSE || Math.abs(shown[name] - value) < 1e-12))
        wrong.push(`${hash}: ${name} is ${shown[name]}, expected ${value}`);
    }
  }
  assert.deepEqual(wrong, []);
  console.log(`${checked} values of ${expected.size} plans`);
  assert.ok(checked > 300, `only ${checked} values`);
  await page.close();
});
