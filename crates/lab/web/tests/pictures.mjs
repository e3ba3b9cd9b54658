// Takes the pictures of docs/lab.md: node tests/pictures.mjs

import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Browser, frame } from "./page.mjs";

const FOLDER = fileURLToPath(new URL("../../../../docs/pictures/", import.meta.url));

const PICTURES = [
  { name: "lab", hash: "strategy=hedge&n=10&seed=4", width: 1400, height: 780, colorScheme: "light", at: null },
  {
    name: "lab-dark",
    hash: "strategy=first&n=8&deadline=2.5s&at-least=3&seed=4",
    width: 1160,
    height: 620,
    colorScheme: "dark",
    at: "#curves",
  },
  {
    name: "lab-narrow",
    hash: "strategy=first&n=100&k=90",
    width: 360,
    height: 1500,
    colorScheme: "light",
    at: "#readouts",
  },
];

const browser = await Browser.open();
for (const { name, hash, width, height, colorScheme, at } of PICTURES) {
  const page = await browser.page(hash);
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.waitForFunction(() => document.querySelector("#simulated")?.textContent.includes("1,000 runs"));
  if (at) await page.locator(at).evaluate((element) => element.scrollIntoView());
  await page.waitForFunction(() =>
    [...document.querySelectorAll("figure .plot")].every(
      (plot) => plot.getBoundingClientRect().top > innerHeight || plot.childElementCount > 0,
    ),
  );
  await frame(page);
  if (at) await page.locator(at).evaluate((element) => element.scrollIntoView());
  await page.waitForTimeout(500);
  const path = `${FOLDER}${name}.png`;
  await page.screenshot({ path });
  console.log(`${name}.png: ${statSync(path).size} bytes`);
  await page.close();
}
await browser.close();
