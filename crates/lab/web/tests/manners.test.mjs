// What the page owes to everyone: access, tables, files, data that stay here, and no word to any network.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ADDRESS, Browser, PAGE, catchFiles, copied, frame, settled, shown } from "./page.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Most of it is the model, in WebAssembly. */
const MOST_BYTES = 470 * 1024;

let browser;
before(async () => (browser = await Browser.open()));
after(async () => {
  assert.deepEqual(browser.errors, []);
  assert.deepEqual(browser.requests, []);
  await browser.close();
});

/** Scrolls through the page until every picture is drawn. */
async function whole(page) {
  for (const figure of await page.$$("figure")) {
    await figure.scrollIntoViewIfNeeded();
    await frame(page);
  }
  await page.waitForFunction(() =>
    [...document.querySelectorAll("figure .plot")].every((plot) => plot.childElementCount > 0),
  );
  await page.waitForSelector("#calls-table");
}

for (const [name, options] of [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["at 360 px", { viewport: { width: 360, height: 740 } }],
  ["in forced colours", { forcedColors: "active" }],
]) {
  test(`axe finds nothing serious: ${name}`, async () => {
    const page = await browser.page("strategy=hedge&deadline=4s&required=3");
    if (options.viewport) await page.setViewportSize(options.viewport);
    await page.emulateMedia(options);
    await whole(page);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    assert.deepEqual(
      serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`),
      [],
    );
    await page.close();
  });
}

for (const width of [320, 360, 768, 1440, 3840]) {
  test(`nothing sticks out at ${width} px`, async () => {
    const page = await browser.page("strategy=hedge&n=16");
    await page.setViewportSize({ width, height: 900 });
    await whole(page);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    await page.close();
  });
}

test("every picture has a table twin and two files", async () => {
  const page = await browser.page("strategy=hedge&deadline=4s&required=3");
  await whole(page);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click('#figure-job .saves button:has-text("SVG")'),
  ]);
  assert.equal(download.suggestedFilename(), "job.svg");
  // The browser lets a page save ten files in a row, so from here on they are caught on their way.
  await catchFiles(page);
  const figures = await page.$$eval("figure:has(svg.chart)", (all) => all.map(({ id }) => id).filter(Boolean));
  assert.ok(figures.length >= 12, figures.join());
  for (const id of figures) {
    await page.click(`#${id} summary`);
    await page.waitForFunction((id) => document.querySelectorAll(`#${id} table tbody tr`).length > 1, id);
    for (const kind of ["SVG", "CSV"]) {
      await page.click(`#${id} .saves button:has-text("${kind}")`);
      const text = await page.evaluate(() => globalThis.saved.text());
      const svg = /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/.test(text) && text.endsWith("</svg>");
      assert.ok(kind === "SVG" ? svg : text.split("\n").length > 2 && text.includes(","), `${id}: ${kind}`);
      assert.ok(!/NaN|undefined/.test(text), `${id}: ${kind}`);
    }
  }
  await page.close();
});

test("pasted percentiles become the law", async () => {
  const page = await browser.page();
  await page.fill("#paste", "p50 = 0.8s, p95 = 1.5s, p99=2.4s");
  await page.click("#use-paste");
  await settled(page, "latency=p50=0.8s,p95=1.5s,p99=2.4s");
  assert.match(await page.textContent("#law-note"), /median 800 ms/);
  await page.close();
});

test("a dropped table asks for column and unit, and every view uses it", async () => {
  const page = await browser.page("n=4");
  const rows = Array.from({ length: 400 }, (_, i) => `${i},${100 + ((i * 7919) % 400)}`).join("\n");
  await page.evaluate((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([`id,took (ms)\n${text}\nx,broken\n`], "calls.csv", { type: "text/csv" }));
    document
      .querySelector("#drop")
      .dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, rows);
  await page.waitForSelector("#column");
  assert.equal(
    await page.$eval("#column", (select) => select.selectedOptions[0].textContent),
    "took (ms) (400 numbers)",
  );
  assert.equal(await page.inputValue("#column-unit"), "ms");
  assert.match(await page.textContent("#data-view"), /400 latencies, from 100 ms to 499 ms/);
  assert.match(await page.textContent("#data-view"), /1 cell was left out/);
  await frame(page);
  assert.match(await shown(page, "exact-p50"), / ms$/);
  await page.selectOption("#column-unit", "s");
  await frame(page);
  assert.match(await shown(page, "exact-p50"), / s$/);
  await page.click("#use-fit");
  await settled(page, "latency=p50=");
  await page.close();
});

test("a file of numbers can be chosen", async () => {
  const page = await browser.page("n=4");
  await page.setInputFiles("#file", {
    name: "calls.txt",
    mimeType: "text/plain",
    buffer: Buffer.from("0.4 0.5 0.6\n0.7s 900ms"),
  });
  await page.waitForSelector("#data-law");
  assert.match(await page.textContent("#data-law"), /5 latencies, from 400 ms to 900 ms/);
  await page.close();
});

test("an experiment asks first, then reveals", async () => {
  const page = await browser.page("n=3&strategy=race");
  await page.fill("#guess-2", "3");
  await page.click("#tries li:nth-child(3) button");
  await settled(page, "strategy=hedge");
  const answer = await page.textContent("#tries li:nth-child(3) output");
  for (const text of ["4.40 s", "You said 3.00 s, too low", "6.13 s", "2.68 s", "5.0 % more requests"])
    assert.ok(answer.includes(text), `${text} in: ${answer}`);
  assert.equal(await shown(page, "exact-p99"), "4.40 s");
  const links = await page.$$eval("#tries a", (all) => all.map((link) => link.getAttribute("href")));
  assert.deepEqual(links, [
    "#strategy=all&n=1",
    "#strategy=all&n=16",
    "#strategy=all",
    "#strategy=first",
    "#strategy=all",
    "#strategy=hedge",
  ]);
  await page.click("#tries li:nth-child(1) a:nth-of-type(2)");
  await settled(page, "n=16");
  assert.equal(await shown(page, "exact-p50"), "2.81 s");
  await page.close();
});

test("what is pinned stays beside what is looked at", async () => {
  const page = await browser.page("strategy=first&k=6");
  await page.keyboard.press("p");
  await settled(page, "pin=");
  await page.keyboard.press("3");
  await settled(page, "strategy=hedge");
  assert.equal(await page.locator("table.compare tr").last().locator("th").textContent(), "A: first:6");
  await page.waitForSelector("#figure-returned .series.h-pinned", { state: "attached" });
  await page.close();
});

test("with less motion asked for, a run is over at once", async () => {
  const page = await browser.page();
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.click("#run");
  assert.equal(await page.textContent("#run"), "Run");
  await page.close();
});

test("what changes is said to those who listen", async () => {
  const page = await browser.page();
  await page.keyboard.press("3");
  await page.waitForFunction(
    () => document.querySelector("#live").textContent === "hedge:p95: p50 2.30 s, p99 4.40 s",
  );
  await page.close();
});

test("one place speaks, and says what came of runs and pins", async () => {
  const page = await browser.page();
  await whole(page);
  const speaking = await page.$$eval("output, [aria-live], [role=status]", (all) => all.map(({ id, className }) => id || className));
  assert.deepEqual(speaking, ["answer", "answer", "answer", "live"]);
  const live = (text) => page.waitForFunction((text) => document.querySelector("#live").textContent.startsWith(text), text);
  await page.keyboard.press("p");
  await live("Pinned as A: all");
  await page.keyboard.press("m");
  await live("2,000 runs: p50 2.");
  await page.close();
});

test("what is copied is said where it can be seen, and shown where it can’t be copied", async () => {
  const page = await browser.page();
  await copied(page, "link");
  assert.equal(await page.textContent("#copy-told"), "Link copied");
  await page.evaluate(() => {
    navigator.clipboard.writeText = async () => Promise.reject(new Error("no"));
    document.execCommand = () => false;
  });
  await page.click("#copy-predict");
  await frame(page);
  assert.match(await page.inputValue("#copy-told input"), /^fantail predict -n 8 /);
  assert.match(await page.evaluate(() => getSelection().toString()), /^fantail predict -n 8 /);
  await page.close();
});

test("the page keeps its place while it loads", async () => {
  const page = await browser.context.newPage();
  await page.addInitScript(() => {
    globalThis.moved = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) globalThis.moved += value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(ADDRESS);
  await page.waitForSelector("#simulated-p50");
  await page.waitForTimeout(500);
  const moved = await page.evaluate(() => globalThis.moved);
  assert.ok(moved < 0.1, `layout shift ${moved}`);
  await page.close();
});

for (const width of [320, 1440]) {
  test(`links of the head lead where they say at ${width} px, and pictures come without moving what is read`, async () => {
    const page = await browser.page();
    await page.setViewportSize({ width, height: 800 });
    for (const id of ["barrier", "data", "calls", "curves"]) {
      await page.click(`nav a[href="#${id}"]`);
      await page.waitForTimeout(1_500);
      const top = await page.$eval(`#${id}`, (section) => section.getBoundingClientRect().top);
      assert.ok(top > -60 && top < 160, `#${id} at ${top}`);
      if (width === 320) await page.evaluate(() => scrollTo(0, 0));
    }
    await page.close();
  });
}

test("paper says what its figures are of", async () => {
  const page = await browser.page("strategy=hedge&n=16");
  assert.equal(await page.isVisible("#paper"), false);
  await page.emulateMedia({ media: "print" });
  assert.match(await page.innerText("#paper"), /-n 16 --latency lognormal:median=1s,sigma=0\.6 --strategy hedge:p95/);
  await page.close();
});

test("names that are long do not stick out of their pictures", async () => {
  const pin = "n%3D12%26latency%3D0.95*lognormal:median%253D0.8s,sigma%253D0.1%257C0.05*pareto:xm%253D1.64s,alpha%253D2.66";
  const page = await browser.page(`strategy=hedge&pin=${pin}`);
  await page.setViewportSize({ width: 1280, height: 900 });
  await whole(page);
  const out = await page.$$eval("svg.chart text", (all) =>
    all.flatMap((text) => {
      const [inner, outer] = [text.getBoundingClientRect(), text.closest("svg").getBoundingClientRect()];
      return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1) ? [text.textContent] : [];
    }),
  );
  assert.deepEqual(out, []);
  await page.close();
});

test("the page is small, and allows no script or style but its own", () => {
  const html = readFileSync(PAGE);
  const size = gzipSync(html, { level: 9 }).length;
  console.log(`page: ${html.length} bytes, ${size} gzipped`);
  assert.ok(size <= MOST_BYTES, `${size} bytes gzipped, expected at most ${MOST_BYTES}`);
  const policy = /http-equiv="?Content-Security-Policy"? content="([^"]*)"/i.exec(html.toString())?.[1] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval(?<!wasm-unsafe-eval)|\*/);
});

test("how long things take is told, not judged", async () => {
  const page = await browser.page("n=16");
  const marks = await page.evaluate(() =>
    performance.getEntriesByName("first-figure").map(({ startTime }) => startTime),
  );
  const navigation = await page.evaluate(() => performance.getEntriesByType("navigation")[0].responseEnd);
  console.log(
    `first exact figure: ${marks[0].toFixed(0)} ms after the page began, ${(marks[0] - navigation).toFixed(0)} ms after it was read`,
  );
  await page.waitForFunction(() => document.querySelector("#simulated")?.textContent.includes("1,000 runs"));
  const frames = await page.evaluate(async () => {
    document.querySelector("#run").click();
    const times = [];
    let last = performance.now();
    const end = last + 2_000;
    while (last < end) {
      const now = await new Promise((done) => requestAnimationFrame(done));
      times.push(now - last);
      last = now;
    }
    return times.sort((a, b) => a - b);
  });
  const at = (share) => frames[Math.floor(share * (frames.length - 1))].toFixed(1);
  console.log(`sixteen lanes in motion: frames of ${at(0.5)} ms, 95 % within ${at(0.95)} ms, longest ${at(1)} ms`);
  const runs = await page.evaluate(() => performance.getEntriesByName("runs").map(({ duration }) => duration));
  console.log(`1,000 runs of 16 branches: ${runs[0].toFixed(0)} ms`);
  const stalls = await page.evaluate(async () => {
    const before = performance.now();
    document.querySelector("#run-million").click();
    let longest = 0;
    let last = performance.now();
    while (document.querySelector("#run-million").textContent === "Stop" && last - before < 60_000) {
      const now = await new Promise((done) => requestAnimationFrame(done));
      longest = Math.max(longest, now - last);
      last = now;
    }
    return { took: last - before, longest };
  });
  console.log(
    `a million runs: ${(stalls.took / 1_000).toFixed(1)} s, longest frame ${stalls.longest.toFixed(0)} ms`,
  );
  await page.close();
});
