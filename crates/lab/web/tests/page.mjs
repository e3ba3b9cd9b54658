// The page in Debian's Chromium, for tests: opened from disk, watched for errors and requests.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));

/** The page that is tested: the built one, or the file or address that FANTAIL_LAB_PAGE names. */
export const PAGE = process.env.FANTAIL_LAB_PAGE ?? join(here, "../../dist/index.html");
const SERVED = PAGE.startsWith("http");
export const ADDRESS = SERVED ? PAGE : pathToFileURL(PAGE).href;

/** The command that is compared with, or the one that FANTAIL_BIN names. */
const COMMAND = process.env.FANTAIL_BIN ?? join(here, "../../../../target/release/fantail");

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** What the command prints as JSON. */
export function fantail(...args) {
  const { status, stdout, stderr } = spawnSync(COMMAND, [...args, "--format", "json"], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`fantail ${args.join(" ")}: ${stderr}`);
  return JSON.parse(stdout);
}

/** A browser of its own, with a page that is closed when the test is over. */
export class Browser {
  static async open(options = {}) {
    const folder = mkdtempSync(join(tmpdir(), "fantail-lab-"));
    const context = await chromium.launchPersistentContext(folder, {
      executablePath: process.env.FANTAIL_CHROMIUM ?? "/usr/bin/chromium",
      args: FLAGS,
      viewport: { width: 1440, height: 1000 },
      offline: !SERVED,
      acceptDownloads: true,
      ...options,
    });
    return new Browser(context, folder);
  }

  constructor(context, folder) {
    this.context = context;
    this.folder = folder;
    /** What went wrong on any page, and what was asked of the network. */
    this.errors = [];
    this.requests = [];
  }

  /** The page with this state, at another address if there is one. */
  async page(hash = "", address = ADDRESS) {
    const page = await this.context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => this.errors.push(String(error.stack ?? error)));
    page.on(
      "console",
      (message) => ["error", "warning"].includes(message.type()) && this.errors.push(message.text()),
    );
    page.on(
      "request",
      (request) =>
        /^(file|data|blob):/.test(request.url()) ||
        request.url().startsWith(address) ||
        this.requests.push(request.url()),
    );
    await page.goto(address + (hash ? `#${hash}` : ""));
    await page.waitForFunction(() => performance.getEntriesByName("whole-page").length > 0);
    return page;
  }

  async close() {
    await this.context.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The exact value of a figure on the page. */
export const value = (page, id) => page.$eval(`#${id}`, (data) => Number(data.value));

/** What is shown of it. */
export const shown = (page, id) => page.$eval(`#${id}`, (data) => data.textContent);

/** Waits until the address holds what is expected, and the page shows it. */
export async function settled(page, expected) {
  await page.waitForFunction((expected) => decodeURIComponent(location.hash).includes(expected), expected);
  await frame(page);
}

/** What a button copies: a link, or the command to predict or simulate; nothing where it only says something. */
export async function copied(page, what) {
  await page.evaluate(() => {
    globalThis.written = "";
    navigator.clipboard.writeText = async (text) => void (globalThis.written = text);
  });
  await page.click(`#copy-${what}`);
  await frame(page);
  return page.evaluate(() => globalThis.written);
}

/** Two frames: what a change asked for is then on the page. */
export const frame = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** From here on a file that the page saves is `saved` there, and goes nowhere. */
export const catchFiles = (page) =>
  page.evaluate(() => {
    const offer = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      globalThis.saved = blob;
      return offer(blob);
    };
    HTMLAnchorElement.prototype.click = () => {};
  });
