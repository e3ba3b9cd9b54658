// Puts the page together: one state, one model, and the parts that show and change them.

import { Board } from "./board.ts";
import { Controls } from "./controls.ts";
import { Data, NOT_CARRIED } from "./data.ts";
import { Told } from "./copied.ts";
import { announce, byId } from "./dom.ts";
import { command, ready } from "./glue.ts";
import { how } from "./how.ts";
import { type Work, whenIdle } from "./idle.ts";
import { Keyboard } from "./keyboard.ts";
import { Model, Problem } from "./model.ts";
import { Readouts, type Row } from "./readouts.ts";
import { served } from "./served.ts";
import { Stage } from "./stage.ts";
import { DEFAULTS, type Kind, type State, Store, words } from "./state.ts";
import { count, duration } from "./text.ts";
import { theme } from "./theme.ts";
import { BATCH, Trials } from "./trials.ts";
import { tries } from "./tries.ts";
import { Address, type Refusal, fromHash, isState, toHash } from "./url.ts";
import { barrier } from "./views/barrier.ts";
import { Calls } from "./views/calls.ts";
import { Explain } from "./views/explain.ts";
import { Growth } from "./views/growth.ts";
import { lines } from "./views/lines.ts";
import { Prices } from "./views/prices.ts";
import { Tail } from "./views/tail.ts";
import { Verdicts } from "./views/verdicts.ts";
import type { Line, Scene } from "./views/view.ts";

await ready();
theme();

const model = new Model();
const refused: Refusal[] = [];
const store = new Store(fromHash(isState(location.hash) ? location.hash : "", refused));
const address = new Address(store, (refused) => controls.refuse(refused));
const commit = (by?: string): void => address.keep("push", by);
const choose = (kind: Kind): void => {
  store.set({ kind });
  commit();
};

/** How long figures beside those looked at may hold up the page, in milliseconds; the others come when it is idle. */
const AT_ONCE = 12;

let later: Work | null = null;

/** What was said of the figures last. */
let said = "";
const readouts = new Readouts(byId("readouts"), choose);
showFigures();
performance.mark("first-figure");

const controls = new Controls(store, model, commit);
controls.refuse(refused);
// What it says in vain is said beside the controls, so the address need not.
if (refused.length > 0) address.keep("replace");
const stage = new Stage(byId("lanes-view"), store, model, () => address.keep("replace"));
const tail = new Tail();
const trials = new Trials(model, (progress) => {
  readouts.simulate(progress);
  for (const id of ["run-many", "run-million"]) byId<HTMLButtonElement>(id).disabled = trials.why !== "";
  byId("run-million").textContent = progress.busy && progress.asked > 100 * BATCH ? "Stop" : "×1,000,000";
  const { all, busy } = progress;
  if (!busy || all) board.again(tail.figure.element);
  if (!busy && all && all.jobs > BATCH)
    announce(`${count(all.jobs, "run", "runs")}: p50 ${duration(all.quantiles_s["p50"])}, p99 ${duration(all.quantiles_s["p99"])}`);
});
const board = new Board();
const data = new Data(byId("data-view"), store, model, commit);

function scene(): Scene {
  const all = lines(store.now);
  const current = all.find((line) => line.current) ?? all[0]!;
  return { state: store.now, model, lines: all, current, trials };
}

/** The exact figures: of the line that is looked at, and of those beside it for which there is time until `end`. */
function showFigures(end = 0): void {
  const all = lines(store.now);
  const found = new Map<Line, Row["predicted"]>();
  const predict = (line: Line): unknown => found.set(line, model.predict(line.words));
  const show = (): Row[] => {
    const rows = all.map((line): Row => ({ ...line, predicted: found.get(line) ?? null }));
    readouts.show(rows);
    return rows;
  };
  all.filter((line) => line.current).forEach(predict);
  for (const line of all) if (!found.has(line) && performance.now() < end) predict(line);
  const rows = show();
  const left = all.filter((line) => !found.has(line));
  later?.cancel();
  later = null;
  const piece = (): boolean => {
    const line = left.shift();
    if (line) predict(line);
    return left.length === 0;
  };
  if (left.length > 0) later = whenIdle(piece, show);
  const current = rows.find((row) => row.current);
  if (!current?.predicted || current.predicted instanceof Problem) return;
  const { p50, p99 } = current.predicted.quantiles_s;
  const text = `${current.name}: p50 ${duration(p50)}, p99 ${duration(p99)}`;
  if (text !== said) announce(text);
  said = text;
}

let played = "";

function show(): void {
  const { state, current } = scene();
  showFigures(performance.now() + AT_ONCE);
  stage.show(current);
  const of = { ...current.words, seed: state.seed };
  if (JSON.stringify(of) !== played || trials.why) {
    played = JSON.stringify(of);
    trials.begin(of);
  }
  board.show(scene());
  byId("paper").textContent = command(JSON.stringify(current.words));
  document.title = `${current.name}, n ${state.n} – fantail lab`;
  const pinned = state.pin !== "";
  byId("pin").setAttribute("aria-pressed", String(pinned));
  byId("pin").textContent = pinned ? "Unpin A" : "Pin as A";
}

let asked = 0;
store.follow(() => {
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(show);
});

function views(): void {
  const growth = new Growth();
  const verdicts = new Verdicts();
  const prices = new Prices();
  const explain = new Explain();
  byId("curve-views").append(
    tail.figure.element,
    growth.figure.element,
    verdicts.figure.element,
    prices.element,
    explain.element,
  );
  board.add(tail.figure.element, (scene) => tail.draw(scene));
  board.add(growth.figure.element, (scene) => growth.draw(scene));
  board.add(verdicts.figure.element, (scene) => verdicts.draw(scene));
  board.add(prices.element, (scene) => prices.draw(scene));
  board.add(explain.element, (scene) => explain.draw(scene));
  for (const view of barrier) {
    byId("barrier-views").append(view.figure.element);
    board.add(view.figure.element, (scene) => view.draw(scene));
  }
  let calls: Calls | null = null;
  board.add(byId("calls"), () => {
    if (calls) return null;
    calls = new Calls(byId("calls-view"), model);
    return calls.draw();
  });
}

/** The state as it can be carried away, without laws that only this page knows; `null` where it is one that nothing stands for. */
function portable(state: State): State | null {
  const law = data.portable(state.law);
  const pinned = state.pin && portable(fromHash(state.pin));
  return law === null ? null : { ...state, law, pin: pinned ? toHash(pinned) || "strategy=all" : "" };
}

const told = new Told(byId("copy-told"));

function carry(what: string, write: (state: State) => string): void {
  const state = portable(store.now);
  if (state) void told.copy(what, write(state));
  else told.say(NOT_CARRIED);
}

const link = (): void =>
  carry("Link", (state) => `${location.href.split("#")[0]}#${toHash(state) || "strategy=all"}`);
const predict = (): void => carry("Command", (state) => command(JSON.stringify(words(state))));
const simulate = (): void => {
  if (trials.why) return told.say(`Nothing to simulate: ${trials.why}`);
  const jobs = Math.max(BATCH, trials.runs);
  carry("Command", (state) => command(JSON.stringify({ ...words(state), seed: state.seed }), jobs));
};
const pin = (): void => {
  const { pin, ...rest } = store.now;
  announce(pin ? "Unpinned" : `Pinned as A: ${scene().current.name}`, 0);
  store.set({ pin: pin ? "" : toHash({ ...rest, pin: "" }) || "strategy=all" });
  commit();
};
const million = (): void =>
  byId("run-million").textContent === "Stop" ? trials.stop() : trials.more(1_000 * BATCH);
const reset = (): void => {
  stage.reset();
  trials.begin({ ...scene().current.words, seed: store.now.seed });
};
const go = (state: State): void => {
  store.set({ ...state, pin: store.now.pin });
  commit();
};
const change =
  (patch: (state: State) => Partial<State>, by?: string): (() => void) =>
  () => {
    store.set(patch(store.now));
    commit(by);
  };

function buttons(): void {
  const acts: Readonly<Record<string, () => void>> = {
    "copy-link": link,
    "copy-predict": predict,
    "copy-simulate": simulate,
    pin,
    reset,
    "run-many": () => trials.more(BATCH),
    "run-million": million,
  };
  for (const [id, act] of Object.entries(acts)) byId(id).addEventListener("click", act);
  for (const anchor of document.querySelectorAll<HTMLAnchorElement>("nav a, .skip")) {
    anchor.addEventListener("click", (event) => {
      event.preventDefault();
      const target = byId(anchor.hash.slice(1));
      // At once: what is passed on the way would be drawn, and move what comes after it.
      target.scrollIntoView({ behavior: "instant" });
      target.tabIndex = -1;
      target.focus({ preventScroll: true });
    });
  }
}

function keys(): void {
  const kinds = (["all", "first", "hedge", "race", "own"] as const).map((kind, i) => ({
    key: String(i + 1),
    says: { all: "Wait for all", first: "First k", hedge: "Hedge", race: "Race", own: "Plan in words" }[kind],
    act: () => choose(kind),
  }));
  const sigma =
    (by: number): (() => void) =>
    () =>
      controls.sigma(by);
  new Keyboard([
    ...kinds,
    { key: " ", says: "Run, pause, go on", act: () => stage.run() },
    { key: "s", says: "Step", repeats: true, act: () => stage.step() },
    { key: "r", says: "Reset", act: reset },
    { key: "m", says: "Run ×1,000", act: () => trials.more(BATCH) },
    { key: "M", says: "Run ×1,000,000, or stop", act: million },
    { key: "+", says: "One worker more", repeats: true, act: change(({ n }) => ({ n: Math.min(1_000, n + 1) }), "+") },
    { key: "-", says: "One worker less", repeats: true, act: change(({ n }) => ({ n: Math.max(1, n - 1) }), "-") },
    { key: ".", says: "k one more", repeats: true, act: change(({ k, n }) => ({ k: Math.min(n, k + 1), kind: "first" }), ".") },
    { key: ",", says: "k one less", repeats: true, act: change(({ k, n }) => ({ k: Math.max(1, Math.min(k, n) - 1), kind: "first" }), ",") },
    { key: "]", says: "Sigma more", repeats: true, act: sigma(0.05) },
    { key: "[", says: "Sigma less", repeats: true, act: sigma(-0.05) },
    { key: "x", says: "Another seed", act: change(({ seed }) => ({ seed: seed + 1, job: 0 })) },
    { key: "p", says: "Pin as A, unpin", act: pin },
    { key: "l", says: "Copy link", act: link },
    { key: "c", says: "Copy as command", act: predict },
    { key: "0", says: "Defaults", act: change(({ pin }) => ({ ...DEFAULTS, pin })) },
  ]);
}

views();
buttons();
keys();
// The figures are painted first.
const rest = [
  show,
  () => tries(byId("tries-list"), model, go),
  () => how(byId("how-view"), model),
  () => void served(byId("served"), model),
];
whenIdle(
  () => {
    rest.shift()?.();
    return rest.length === 0;
  },
  () => performance.mark("whole-page"),
);
