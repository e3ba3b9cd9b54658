// Small helpers around the document.

export type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string | null | undefined;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** An HTML element with attributes and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element with attributes and children. */
export function s<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** The element of the page with this id, which index.html states. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element #${id}`);
  return element as E;
}

/** An id that no other call returned. */
export function fresh(prefix: string): string {
  return `${prefix}-${++count}`;
}
let count = 0;

/** Whether the reader asked for less motion. */
export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Puts `parts` in the place of what `host` holds; what had the focus keeps it, known by its `data-key` or label. */
export function replace(host: Element, ...parts: Node[]): void {
  const key = (element: Element | null): string | null =>
    element && (element.getAttribute("data-key") ?? element.getAttribute("aria-label"));
  const held = host.contains(document.activeElement) ? key(document.activeElement) : null;
  host.replaceChildren(...parts);
  if (held === null) return;
  const all = [...host.querySelectorAll<HTMLElement>("[data-key], [aria-label]")];
  all.find((element) => key(element) === held)?.focus({ preventScroll: true });
}

/** Offers `text` as a file. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}

const live = (): HTMLElement => byId("live");
let pending: ReturnType<typeof setTimeout> | undefined;

/** Says `text` to those who listen to the page, once it has been true for a moment. */
export function announce(text: string, wait = 600): void {
  clearTimeout(pending);
  pending = setTimeout(() => (live().textContent = text), wait);
}
