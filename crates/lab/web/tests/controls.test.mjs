// Every control, by mouse and by keyboard; and every key.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, frame, settled, shown } from "./page.mjs";

let browser;
before(async () => (browser = await Browser.open()));
after(async () => {
  assert.deepEqual(browser.errors, []);
  await browser.close();
});

/** Types into a control as a person does: goes there, replaces what is there, confirms. */
async function type(page, id, text) {
  await page.focus(`#${id}`);
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

const radio = (kind) => [
  `by mouse: ${kind}`,
  "n=9",
  (page) => page.click(`label:has(input[value=${kind}])`),
  kind === "all" ? "n=9" : `strategy=${kind}`,
];

const CONTROLS = [
  radio("first"),
  radio("hedge"),
  radio("race"),
  radio("own"),
  [
    "back to all by mouse",
    "strategy=race&n=9",
    (page) => page.click("label:has(input[value=all])"),
    "strategy=all&n=9",
  ],
  [
    "strategies by arrow",
    "n=9",
    async (page) => {
      await page.focus("input[value=all]");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
    },
    "strategy=hedge",
  ],
  [
    "a strategy by its row in the table",
    "n=9",
    (page) => page.click("table.compare button:has-text('hedge:p95')"),
    "strategy=hedge",
  ],
  [
    "a strategy by its row and Enter",
    "n=9",
    async (page) => {
      await page.focus("table.compare button:has-text('first:5')");
      await page.keyboard.press("Enter");
    },
    "strategy=first",
  ],
  ["k", "n=9", (page) => type(page, "k", "7"), "strategy=first&n=9&k=7"],
  [
    "k by its arrow",
    "n=9",
    async (page) => {
      await page.focus("#k");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Tab");
    },
    "strategy=first&n=9&k=6",
  ],
  ["hedge after a quantile", "n=9", (page) => type(page, "after", "p90"), "strategy=hedge&after=p90"],
  ["hedge after a time", "n=9", (page) => type(page, "after", "2.5s"), "strategy=hedge&after=2.5s"],
  ["r", "n=9", (page) => type(page, "r", "3"), "strategy=race&n=9&r=3"],
  ["a plan in words", "n=9", (page) => type(page, "own", "share:95%+race:2"), "strategy=own&own=share:95%+race:2"],
  ["workers by number", "", (page) => type(page, "n", "1000"), "n=1000"],
  [
    "workers by slider and keys",
    "",
    async (page) => {
      await page.focus("#n-slide");
      await page.keyboard.press("ArrowRight");
    },
    "n=9",
  ],
  [
    "workers by slider and mouse",
    "",
    async (page) => {
      const box = await page.locator("#n-slide").boundingBox();
      await page.mouse.click(box.x + 2, box.y + box.height / 2);
    },
    "n=1",
  ],
  ["sigma by number", "", (page) => type(page, "sigma", "0.9"), "latency=lognormal:median=1s,sigma=0.9"],
  [
    "sigma by slider and keys",
    "",
    async (page) => {
      await page.focus("#sigma-slide");
      await page.keyboard.press("ArrowLeft");
    },
    "latency=lognormal:median=1s,sigma=0.55",
  ],
  ["median", "", (page) => type(page, "median", "20"), "latency=lognormal:median=20s,sigma=0.6"],
  ["unit", "", (page) => page.selectOption("#unit", "ms"), "latency=lognormal:median=1ms,sigma=0.6"],
  [
    "a law in words",
    "",
    (page) => type(page, "law", "p50=0.8s,p95=1.5s,p99=2.4s"),
    "latency=p50=0.8s,p95=1.5s,p99=2.4s",
  ],
  ["deadline", "", (page) => type(page, "deadline", "2.5s"), "deadline=2.5s"],
  ["required", "", (page) => type(page, "required", "3"), "required=3"],
  ["at least", "", (page) => type(page, "at-least", "3"), "at-least=3"],
  [
    "luck shared by a job",
    "",
    async (page) => {
      await page.click("#controls summary");
      await type(page, "rho-job", "0.2");
    },
    "rho-job=0.2",
  ],
  [
    "luck shared by a branch",
    "",
    async (page) => {
      await page.focus("#controls summary");
      await page.keyboard.press("Enter");
      await type(page, "rho-branch", "0.3");
    },
    "rho-branch=0.3",
  ],
  [
    "seed",
    "",
    async (page) => {
      await page.click("#controls summary");
      await type(page, "seed", "42");
    },
    "seed=42",
  ],
  ["pin by mouse", "n=9", (page) => page.click("#pin"), "pin=strategy=all&n=9"],
  ["defaults keep what is pinned", "n=9&k=7&pin=n=3", (page) => page.click("#defaults"), "strategy=all&pin=n=3"],
];

const KEYS = [
  ["2", "strategy=first"],
  ["3", "strategy=hedge"],
  ["4", "strategy=race"],
  ["5", "strategy=own"],
  ["+", "n=9"],
  ["-", "n=7"],
  [".", "strategy=first&k=6"],
  [",", "strategy=first&k=4"],
  ["]", "sigma=0.65"],
  ["[", "sigma=0.55"],
  ["x", "seed=2"],
  ["p", "pin=strategy=all"],
];

for (const [name, hash, act, expected] of CONTROLS) {
  test(`control: ${name}`, async () => {
    const page = await browser.page(hash);
    await act(page);
    await settled(page, expected);
    assert.equal(await page.locator(".error:not(:empty)").count(), 0);
    await page.close();
  });
}

test("every key does what the sheet says", async () => {
  const page = await browser.page();
  for (const [key, expected] of KEYS) {
    await page.keyboard.press("0");
    await frame(page);
    await page.keyboard.press(key);
    await settled(page, expected);
  }
  await page.keyboard.press("1");
  await settled(page, "");
  await page.keyboard.press("?");
  assert.equal(await page.locator("#help tbody tr").count(), 22);
  await page.keyboard.press("Escape");
  await page.close();
});

test("keys can be switched off, and that is remembered", async () => {
  const page = await browser.page();
  await page.click("#help-open");
  await page.uncheck("#keys-on");
  await page.click("#help button");
  await page.keyboard.press("3");
  await frame(page);
  assert.ok(await page.isChecked("input[value=all]"));
  await page.reload();
  await page.keyboard.press("3");
  await frame(page);
  assert.ok(await page.isChecked("input[value=all]"));
  await page.click("#help-open");
  await page.check("#keys-on");
  await page.click("#help button");
  await page.keyboard.press("3");
  await settled(page, "strategy=hedge");
  await page.close();
});

test("letters typed into a field are no commands", async () => {
  const page = await browser.page();
  await page.focus("#law");
  await page.keyboard.type("p3xm");
  await frame(page);
  assert.ok(await page.isChecked("input[value=all]"));
  assert.equal(await page.evaluate(() => location.hash), "");
  await page.close();
});

test("Back goes to what was looked at before", async () => {
  const page = await browser.page("strategy=first");
  await page.keyboard.press("3");
  await settled(page, "strategy=hedge");
  await page.keyboard.press("+");
  await settled(page, "n=9");
  await page.goBack();
  await frame(page);
  assert.equal(await page.inputValue("#n"), "8");
  await page.goBack();
  await frame(page);
  assert.ok(await page.isChecked("input[value=first]"));
  assert.equal(await shown(page, "exact-p99"), "2.02 s");
  await page.close();
});

test("steps of one control are one entry, and a held key or Caps Lock does not what nobody meant", async () => {
  const page = await browser.page();
  await page.focus("#sigma-slide");
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
  await settled(page, "sigma=0.8");
  await page.goBack();
  await frame(page);
  assert.equal(await page.inputValue("#sigma"), "0.6");
  const press = (key, more = {}) =>
    page.evaluate(
      ([key, more]) => void document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more })),
      [key, more],
    );
  await press("]", { ctrlKey: true, altKey: true, modifierAltGraph: true });
  await settled(page, "sigma=0.65");
  await press("3", { ctrlKey: true, altKey: true });
  await press("p");
  await settled(page, "pin=");
  for (let i = 0; i < 3; i++) await press("p", { repeat: true });
  await frame(page);
  assert.equal(await page.textContent("#pin"), "Unpin A");
  assert.ok(await page.isChecked("input[value=all]"));
  await press("M");
  await page.waitForFunction(() => document.querySelector("#simulated")?.textContent.includes("2,000 runs"));
  await page.close();
});

test("the focus stays where it is when figures come anew", async () => {
  const page = await browser.page();
  await page.focus("table.compare button:has-text('hedge:p95')");
  await page.keyboard.press("Enter");
  await settled(page, "strategy=hedge");
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  assert.equal(await focused(), "hedge:p95");
  await page.waitForSelector("#simulated .scroll");
  await page.focus("#simulated .scroll");
  await page.keyboard.press("m");
  await page.waitForFunction(() => document.querySelector("#simulated")?.textContent.includes("2,000 runs"));
  assert.match(await focused(), /^Simulated/);
  await page.close();
});

test("a run says how it ended when it has, and the same run is played under another plan", async () => {
  const page = await browser.page();
  const told = () => page.textContent("#job-told");
  await page.selectOption("#speed", "0.25");
  await page.click("#run");
  await page.waitForFunction(() => document.querySelector("#run").textContent === "Pause");
  assert.equal(await told(), "Run 1 …");
  await page.click("#run");
  await page.keyboard.press("+");
  await settled(page, "n=9");
  await page.click("#step");
  assert.equal(await told(), "Run 1 …");
  await page.keyboard.press("3");
  await settled(page, "strategy=hedge");
  await page.selectOption("#speed", "5");
  await page.click("#run");
  await page.waitForFunction(() => document.querySelector("#run").textContent === "Run");
  assert.match(await told(), /^Run 1: complete/);
  assert.doesNotMatch(await page.evaluate(() => location.hash), /job=/);
  await page.close();
});

test("run, pause, step and reset play one job after the other", async () => {
  const page = await browser.page("strategy=hedge&n=16");
  await page.selectOption("#speed", "0.25");
  await page.click("#run");
  await page.waitForFunction(() => document.querySelector("#run").textContent === "Pause");
  await page.keyboard.press("Escape");
  await page.focus("#lanes-view summary");
  await page.click("#run");
  assert.equal(await page.textContent("#run"), "Go on");
  assert.equal(await page.getAttribute("#figure-job .playhead", "visibility"), "visible");
  const before = await page.getAttribute("#figure-job .playhead", "transform");
  await page.click("#step");
  assert.notEqual(await page.getAttribute("#figure-job .playhead", "transform"), before);
  await page.selectOption("#speed", "5");
  await page.click("#run");
  await page.waitForFunction(() => document.querySelector("#run").textContent === "Run");
  assert.match(await page.textContent("#job-told"), /^Run 1: complete/);
  await page.click("#run");
  await page.waitForFunction(() => document.querySelector("#job-told").textContent.startsWith("Run 2:"));
  await settled(page, "job=1");
  await page.click("#reset");
  await page.waitForFunction(() => document.querySelector("#job-told").textContent.startsWith("Run 1:"));
  await page.keyboard.press("s");
  await frame(page);
  assert.equal(await page.textContent("#run"), "Go on");
  await page.close();
});

test("a million runs leave the page able to answer, and can be stopped", async () => {
  const page = await browser.page();
  await page.click("#run-million");
  await page.waitForFunction(() => document.querySelector("#run-million").textContent === "Stop");
  await page.keyboard.press("3");
  await settled(page, "strategy=hedge");
  assert.equal(await shown(page, "exact-p99"), "4.40 s");
  await page.keyboard.press("Shift+M");
  await page.waitForFunction(() => document.querySelector("#run-million").textContent === "Stop");
  await page.keyboard.press("Shift+M");
  await page.waitForFunction(() => document.querySelector("#run-million").textContent !== "Stop");
  assert.ok((await page.$eval("#simulated-p50", (data) => Number(data.value))) > 0);
  await page.close();
});

test("what is wrong is said beside its control, and the rest stays", async () => {
  const page = await browser.page();
  await type(page, "law", "lognormal:median=1s,sigma=-1");
  await page.waitForFunction(() => document.querySelector("#error-law").textContent !== "");
  assert.equal(await page.getAttribute("#law", "aria-invalid"), "true");
  await type(page, "law", "exponential:mean=1s");
  await page.waitForFunction(() => document.querySelector("#error-law").textContent === "");
  await type(page, "own", "fist:5");
  await page.waitForFunction(() => /fist/.test(document.querySelector("#error-strategy").textContent));
  await type(page, "deadline", "2.5");
  await page.keyboard.press("Tab");
  await page.click("label:has(input[value=all])");
  await page.waitForFunction(
    () =>
      document.querySelector("#error-deadline").textContent !== "" &&
      document.querySelector("#error-strategy").textContent === "",
  );
  await type(page, "deadline", "9s");
  await page.waitForFunction(() => document.querySelector("#error-deadline").textContent === "");
  assert.equal(await page.locator("table.compare tbody tr td").first().textContent(), "2.49 s");
  await page.close();
});
