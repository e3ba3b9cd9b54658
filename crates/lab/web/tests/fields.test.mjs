// What a control shows is what is computed, and what can't be computed leaves no old picture.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, catchFiles, copied, frame, settled, shown } from "./page.mjs";

let browser;
before(async () => (browser = await Browser.open()));
after(async () => {
  assert.deepEqual(browser.errors, []);
  await browser.close();
});

const problem = (page, place) => page.textContent(`#error-${place}`);

for (const [id, text, place, expected, back] of [
  ["n", "1001", "n", /got 1001, expected a whole number from 1 to 1000/, "100"],
  ["n", "2.5", "n", /got 2.5, expected a whole number/, "2"],
  ["k", "9", "strategy", /got 9, expected a whole number from 1 to 8/, "5"],
  ["required", "9", "deadline", /got 9, expected a whole number from 0 to 8/, ""],
  ["at-least", "9", "deadline", /got 9, expected a whole number from 0 to 8/, ""],
  ["seed", "100000000000000000000", "rho", /got 100000000000000000000, expected/, "1000000000000000"],
  ["rho-job", "1.5", "rho", /got 1.5, expected 0 to 1/, "1"],
  ["sigma", "-1", "law", /got -1, expected more than 0/, "0.6"],
]) {
  test(`a number that is not taken is said beside its field: ${id} ${text}`, async () => {
    const page = await browser.page();
    await page.evaluate(() => document.querySelectorAll("#controls details").forEach((all) => (all.open = true)));
    await page.focus(`#${id}`);
    await page.keyboard.press("Control+A");
    await page.keyboard.type(text);
    assert.match(await problem(page, place), expected);
    await page.keyboard.press("Enter");
    assert.match(await problem(page, place), expected);
    assert.equal(await page.inputValue(`#${id}`), back);
    await page.click("#defaults");
    await frame(page);
    assert.equal(await problem(page, place), "");
    await page.close();
  });
}

test("an address beyond the bounds is said, and what is shown is what is computed", async () => {
  const page = await browser.page("n=5000&seed=1e20");
  assert.equal(await page.inputValue("#n"), "8");
  assert.match(await problem(page, "n"), /got 5000, expected a whole number from 1 to 1000/);
  assert.equal(await page.evaluate(() => location.hash), "");
  await page.evaluate(() => (location.hash = "n=4&strategy=first&k=9&required=9&at-least=9"));
  await frame(page);
  assert.equal(await problem(page, "n"), "");
  for (const id of ["k", "required", "at-least"]) assert.equal(await page.inputValue(`#${id}`), "4");
  assert.equal(await page.locator("tr.current").getAttribute("data-strategy"), "first:4");
  await page.keyboard.press(",");
  await settled(page, "k=3");
  await page.evaluate(() => (location.hash = "n=0"));
  await frame(page);
  assert.match(await problem(page, "n"), /got 0/);
  await page.close();
});

test("Back is shown in the field that has the focus, and the document number is the one that is shown", async () => {
  const page = await browser.page();
  await page.focus("#n");
  await page.keyboard.press("ArrowUp");
  await settled(page, "n=9");
  await page.goBack();
  await frame(page);
  assert.equal(await page.inputValue("#n"), "8");
  await page.locator("#calls").scrollIntoViewIfNeeded();
  await page.waitForSelector("#figure-document-bounded svg", { timeout: 60_000 });
  for (const [text, holds] of [
    ["5000", "1000"],
    ["0", "1"],
  ]) {
    await page.fill("#document", text);
    await page.press("#document", "Enter");
    assert.equal(await page.inputValue("#document"), holds);
  }
  await page.close();
});

test("a law that is none leaves no old picture, table or file", async () => {
  const page = await browser.page("deadline=4s");
  for (const figure of await page.$$("#curves figure, #figure-spread")) {
    await figure.scrollIntoViewIfNeeded();
    await figure.$eval("details", (details) => (details.open = true)).catch(() => {});
  }
  await page.waitForSelector("#figure-spread svg.chart");
  await page.waitForSelector("#figure-verdicts svg.chart");
  await page.evaluate(() => (location.hash = "deadline=4s&latency=exponential:mean=-1s"));
  for (const figure of await page.$$("#curves figure, #figure-spread, #figure-job")) {
    await figure.scrollIntoViewIfNeeded();
    const id = await figure.getAttribute("id");
    await page.waitForFunction((id) => !document.querySelector(`#${id} .plot svg`), id);
    for (const part of ["table", "input.read", ".saves", ".reading"])
      assert.equal(await page.isVisible(`#${id} ${part}`), false, `${id} ${part}`);
  }
  await page.close();
});

test("a shape that can’t be played can’t be run or copied as a simulation, and says why", async () => {
  const page = await browser.page("strategy=own&own=tree:2x4");
  assert.match(await shown(page, "exact-p50"), / s$/);
  for (const id of ["run", "step", "run-many", "run-million"]) assert.ok(await page.isDisabled(`#${id}`), id);
  assert.match(await page.textContent("#lanes-view"), /no plan runs in this shape/);
  assert.equal(await copied(page, "simulate"), "");
  assert.match(await page.textContent("#copy-told"), /no plan runs in this shape/);
  assert.match(await copied(page, "predict"), /--strategy tree:2x4$/);
  await page.keyboard.press("1");
  await page.waitForSelector("#run:not([disabled])");
  await page.waitForSelector("#simulated-p50");
  await page.close();
});

test("a copy that a deadline brings forward is told as the command tells it", async () => {
  const page = await browser.page("strategy=hedge&deadline=2.5s");
  const told = await page.textContent("#earlier-copy");
  assert.match(told, /due after 1\.50 s, not after p95, 2\.68 s: .*1\.00 s left .*min_useful/);
  await page.keyboard.press("0");
  await frame(page);
  assert.equal(await page.locator("#earlier-copy").count(), 0);
  await page.close();
});

test("an axis that begins before zero has its unit", async () => {
  const page = await browser.page();
  await page.locator("#figure-density").scrollIntoViewIfNeeded();
  await page.waitForSelector("#figure-density svg.chart");
  const ticks = await page.locator("#figure-density svg.chart text").allTextContents();
  assert.ok(ticks.includes("-1 s") && ticks.includes("4 s"), String(ticks));
  await page.close();
});

test("files say what the screen says, with units in their heads and quotes around commas", async () => {
  const page = await browser.page("strategy=hedge&pin=n%3D12%26latency%3Dp50%3D0.8s,p95%3D1.5s");
  await catchFiles(page);
  const csv = async (id) => {
    await page.locator(`#figure-${id}`).scrollIntoViewIfNeeded();
    await page.waitForSelector(`#figure-${id} svg.chart`);
    await page.click(`#figure-${id} .saves button:has-text("CSV")`);
    return (await page.evaluate(() => globalThis.saved.text())).trim().split("\n");
  };
  const returned = await csv("returned");
  assert.match(returned[0], /^returned,all_s,first:5_s,hedge:p95_s,.*"A: all, n 12, p50=0\.8s,p95=1\.5s_s"/);
  const column = returned.slice(1).map((line) => line.split(",").map(Number));
  assert.deepEqual([column[0][0], column.at(-1)[0]], [0.0001, 0.9999]);
  assert.ok(column[0][1] < column.at(-1)[1]);
  assert.match((await csv("verdicts"))[0], /^deadline_s,failed,partial,complete$/);
  assert.match((await csv("branches"))[0], /^branches,all p99_s,all p50_s/);
  assert.match((await csv("prices")).at(-1), /^"A: all, n 12, p50=0\.8s,p95=1\.5s",0,0,0$/);
  await page.close();
});
