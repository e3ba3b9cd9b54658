// Every command by one key, a sheet that says which, and a switch that turns them off.

import { announce, byId, h } from "./dom.ts";

export interface Command {
  /** The key, as `KeyboardEvent.key` says it. */
  readonly key: string;
  readonly says: string;
  /** Done again and again while the key is held. */
  readonly repeats?: boolean;
  readonly act: () => void;
}

/** Where the switch is remembered. */
const SWITCH = "fantail.lab.keys";

export class Keyboard {
  readonly #commands: readonly Command[];
  readonly #dialog = byId<HTMLDialogElement>("help");
  #on = remembered();

  constructor(commands: readonly Command[]) {
    this.#commands = [...commands, { key: "?", says: "This sheet", act: () => this.#open() }];
    byId("help-open").addEventListener("click", () => this.#open());
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  #press(event: KeyboardEvent): void {
    if (!this.#on || held(event) || this.#dialog.open || takesText(event.target)) return;
    if (
      event.key === " " &&
      event.target instanceof Element &&
      event.target.closest("button, a, summary, input, select")
    )
      return;
    // A letter is told by Shift, whatever Caps Lock says.
    const letter = /^[a-z]$/i.test(event.key);
    const key = !letter ? event.key : event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
    const command = this.#commands.find((command) => command.key === key);
    if (!command) return;
    event.preventDefault();
    if (!event.repeat || command.repeats) command.act();
  }

  #open(): void {
    const toggle = h("input", { type: "checkbox", id: "keys-on" });
    toggle.checked = this.#on;
    toggle.addEventListener("change", () => this.#switch(toggle.checked));
    const close = h("button", { type: "button", class: "primary" }, "Close");
    close.addEventListener("click", () => this.#dialog.close());
    const rows = this.#commands.map(({ key, says }) =>
      h("tr", {}, h("td", {}, h("kbd", {}, key === " " ? "Space" : key)), h("td", {}, says)),
    );
    this.#dialog.replaceChildren(
      h("h2", { id: "help-title" }, "Keys"),
      h(
        "table",
        {},
        h(
          "thead",
          { class: "hidden" },
          h("tr", {}, h("th", { scope: "col" }, "Key"), h("th", { scope: "col" }, "What it does")),
        ),
        h("tbody", {}, ...rows),
      ),
      h("p", { class: "note" }, "Tab and arrows move through all controls, as everywhere."),
      h("p", {}, h("label", {}, toggle, " Use these keys")),
      close,
    );
    this.#dialog.showModal();
  }

  #switch(on: boolean): void {
    this.#on = on;
    try {
      localStorage.setItem(SWITCH, on ? "on" : "off");
    } catch {
      // A page from disk may have no storage: then the switch lasts as long as the page.
    }
    announce(on ? "Keys on" : "Keys off", 0);
  }
}

/** Whether a modifier makes the key another one's; brackets need Alt, or Ctrl and Alt for AltGr, on many keyboards. */
function held({ key, ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
  return metaKey || ("[]".includes(key) ? ctrlKey && !altKey : ctrlKey || altKey);
}

function remembered(): boolean {
  try {
    return localStorage.getItem(SWITCH) !== "off";
  } catch {
    return true;
  }
}

/** Whether letters typed here mean themselves. */
function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement)
    return !["radio", "checkbox", "range", "button", "file"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
