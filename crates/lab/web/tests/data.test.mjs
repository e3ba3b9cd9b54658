// The user's own latencies: how they are read, what they are called, and what can be carried away.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, copied, frame, settled, shown } from "./page.mjs";

let browser;
before(async () => (browser = await Browser.open()));
after(async () => {
  assert.deepEqual(browser.errors, []);
  assert.deepEqual(browser.requests, []);
  await browser.close();
});

async function paste(page, text) {
  await page.fill("#paste", text);
  await page.click("#use-paste");
  await frame(page);
}

const NUMBERS = Array.from({ length: 300 }, (_, i) => (0.1 + i * 0.003).toFixed(3)).join("\n");

test("the same latencies are the same law after a reload, and others are another", async () => {
  const page = await browser.page("strategy=hedge");
  await paste(page, NUMBERS);
  await settled(page, "latency=samples:");
  await page.keyboard.press("Escape");
  await page.click("#pin");
  await settled(page, "pin=");
  const [law, p50] = [await page.inputValue("#law"), await shown(page, "exact-p50")];
  await page.reload();
  await page.waitForSelector(".refused");
  assert.match(await page.textContent("#figure-job .plot"), /drop their file again/);
  await paste(page, "7 8 9");
  assert.notEqual(await page.inputValue("#law"), law);
  // What is pinned still waits for its own.
  assert.match(await page.textContent("table.compare tbody tr:last-child"), /drop their file again/);
  await paste(page, NUMBERS);
  assert.equal(await page.inputValue("#law"), law);
  assert.equal(await shown(page, "exact-p50"), p50);
  assert.match(await page.textContent("table.compare tbody tr:last-child"), / ms/);
  await page.waitForSelector("#simulated-p50");
  assert.equal(await page.locator("#figure-job .plot svg.lanes").count(), 1);
  // The address that the reload came from shows them at once when they are dropped again.
  await page.reload();
  await page.waitForSelector(".refused");
  await paste(page, NUMBERS);
  await page.waitForSelector("#simulated-p50");
  assert.equal(await shown(page, "exact-p50"), p50);
  assert.equal(await page.locator("#figure-job .plot svg.lanes").count(), 1);
  await page.close();
});

test("what is pasted is understood, or refused with what was expected", async () => {
  const page = await browser.page();
  const law = async () => [await page.inputValue("#law"), await page.textContent("#data-found")];
  for (const [text, expected] of [
    ["120 ms\n340 ms\n1.2 s\n", /3 latencies, from 120 ms to 1\.20 s/],
    ["p50: 0.8s, p95: 1.5s", "p50=0.8s,p95=1.5s"],
    ["p50 800ms p95 1.5s p99 2.4 s", "p50=800ms,p95=1.5s,p99=2.4s"],
    ["P50=0.8s; P95=1.5s", "p50=0.8s,p95=1.5s"],
    ["50%=0.8s, 95 % = 1.5s", "p50=0.8s,p95=1.5s"],
    ["p99\n12\n13\n", /2 latencies, from 12\.0 s/],
  ]) {
    await paste(page, text);
    const [latency, told] = await law();
    if (typeof expected === "string") assert.equal(latency, expected, text);
    else assert.match(told, expected, text);
  }
  for (const [text, expected] of [
    ["0,41 0,39 1,2", /`0,41` may be one number or several/],
    ["0,41\n0,39\n1,2\n", /decimals with a point/],
    ["1,234 ms\n2,345 ms", /decimals with a point/],
    ["latency\n0,41\n0,39\n", /decimals with a point/],
    ["ts;latency (ms)\n1;120,5\n2;130,7\n", /`latency \(ms\)`: line 2: `120,5` is no number; expected decimals with a point/],
    ["p50=0,8s, p95=1,5s", /./],
    ['a,b\n"1,2\n3,4\n', /never closed/],
  ]) {
    const [before] = await law();
    await paste(page, text);
    const [latency, told] = await law();
    assert.equal(latency, before, text);
    assert.match(told, expected, text);
  }
  // The column that is called latency is chosen, not the one that holds numbers.
  await paste(page, "ts;latency (ms)\n1;120,5\n");
  assert.match(await page.$eval("#column", (select) => select.selectedOptions[0].textContent), /^latency \(ms\) \(0/);
  await paste(page, Array.from({ length: 1_200 }, (_, i) => `${1 + i / 1_000}`).join(" "));
  assert.match((await law())[1], /1,200 latencies.*no share is off by more than 2 %/);
  await page.close();
});

test("a link carries percentiles for latencies, also for pinned ones; what it can’t carry it says", async () => {
  const page = await browser.page();
  await paste(page, NUMBERS);
  await page.click("#pin");
  await settled(page, "pin=");
  const link = await copied(page, "link");
  assert.doesNotMatch(decodeURIComponent(decodeURIComponent(link)), /samples:/);
  const other = await browser.page(link.split("#")[1]);
  assert.equal(await other.locator(".refused").count(), 0);
  await other.close();
  await paste(page, "0.5");
  assert.match(await page.textContent("#data-view"), /can’t carry these latencies/);
  for (const what of ["link", "predict", "simulate"]) {
    assert.equal(await copied(page, what), "");
    assert.match(await page.textContent("#copy-told"), /can’t carry these latencies/);
  }
  await page.close();
});
