// Live updates, search while typing, keyboard shortcuts and the browser's time zone. Everything else works without this
// script. Text from sessions is never parsed here: parts of the server's pages are inserted as they are.
"use strict";

const root = document.documentElement;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);

// Times.

function ago(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 45) return "just now";
  if (seconds < 5400) return `${Math.floor((seconds + 30) / 60)} min ago`;
  if (seconds < 129600) return `${Math.floor((seconds + 1800) / 3600)} h ago`;
  return `${Math.floor((seconds + 43200) / 86400)} days ago`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const pad = (number) => String(number).padStart(2, "0");

function formatTimes(within = document) {
  for (const time of all("time[data-time]", within)) {
    const at = new Date(time.dateTime);
    if (time.dataset.time === "ago") {
      const text = ago(Date.now() - at);
      if (time.textContent !== text) time.textContent = text;
    } else if (time.dataset.time === "day") {
      time.textContent = `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()}`;
    } else {
      time.textContent = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}`;
    }
    if (!time.dataset.zone) time.title = exact.format(at);
  }
}

// Partial page updates.

async function fetchPage(url, options = {}) {
  const response = await fetch(url, { headers: { accept: "text/html" }, ...options });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return { page, url: response.url, ok: response.ok };
}

// Returns whether the user is typing or selecting text in a part of the page; such a part is not replaced.
function isInUse(part) {
  const active = document.activeElement;
  if (active && active !== part && part.contains(active) && active.matches("input, textarea, select")) return true;
  const selection = getSelection();
  return selection && !selection.isCollapsed && part.contains(selection.anchorNode);
}

function sameText(part, other) {
  const plain = (node) => {
    const copy = node.cloneNode(true);
    for (const time of all("time", copy)) time.replaceWith("");
    for (const open of all("details", copy)) open.removeAttribute("open");
    for (const fresh of all(".fresh", copy)) fresh.classList.remove("fresh");
    return copy.innerHTML.replaceAll(' class="item"', "").replaceAll(' class="item "', "") + (copy.dataset.well ?? "");
  };
  return plain(part) === plain(other);
}

// Replaces a part of the page by its newer state, keeping unfolded details and the focus.
function swap(part, newer) {
  if (sameText(part, newer) || isInUse(part)) return;
  const open = all("details", part).map((details) => details.open);
  const key = document.activeElement?.closest?.("[data-key]")?.dataset.key;
  const had = part.contains(document.activeElement);
  for (const { name, value } of [...newer.attributes]) part.setAttribute(name, value);
  for (const { name } of [...part.attributes]) if (!newer.hasAttribute(name)) part.removeAttribute(name);
  part.replaceChildren(...newer.childNodes);
  all("details", part).forEach((details, at) => { if (open[at] !== undefined) details.open = open[at]; });
  formatTimes(part);
  if (had && key) one(`[data-key="${CSS.escape(key)}"] :is(a, button)`, part)?.focus({ preventScroll: true });
}

// Lists: changed items are updated in place. New items are held back while the user reads further down.

let held = [];

function mergeList(list, newer) {
  const known = new Map(all(":scope > [data-key]", list).map((item) => [item.dataset.key, item]));
  const seen = new Set();
  const fresh = [];
  let isBelowKnown = false;
  for (const item of all(":scope > [data-key]", newer)) {
    const key = item.dataset.key;
    seen.add(key);
    const old = known.get(key);
    if (old) {
      isBelowKnown = true;
      swap(old, item);
    } else {
      fresh.push({ item, isBelowKnown });
    }
  }
  const isOldestFirst = list.classList.contains("turns");
  const isReading = !isOldestFirst && (scrollY > 120 || list.contains(document.activeElement));
  if (isOldestFirst) {
    for (const { item } of fresh) insert(list, item, null);
  } else if (isReading && known.size) {
    held = fresh.filter(({ isBelowKnown }) => !isBelowKnown).map(({ item }) => item);
  } else {
    for (const { item } of fresh.filter(({ isBelowKnown }) => !isBelowKnown || !known.size).reverse()) insert(list, item, list.firstChild);
    held = [];
  }
  showHeldCount();
  one(".empty", list.parentElement)?.toggleAttribute("hidden", list.children.length > 0);
}

function insert(list, item, before) {
  const node = document.importNode(item, true);
  node.classList.add("fresh");
  list.insertBefore(node, before);
  formatTimes(node);
}

function showHeldCount() {
  const button = one("[data-new]");
  if (!button) return;
  button.hidden = held.length === 0;
  button.textContent = `${held.length} new`;
}

function showNew() {
  const list = one('[data-live="list"]');
  if (!list || !held.length) return;
  for (const item of [...held].reverse()) insert(list, item, list.firstChild);
  held = [];
  showHeldCount();
  scrollTo({ top: 0 });
  one("a", list.firstElementChild)?.focus({ preventScroll: true });
}

let refreshing = null;

// Batches bursts of events into one request.
function refreshSoon() {
  refreshing ??= setTimeout(async () => {
    try { await refresh(); } catch { /* The event stream reconnects when the server is back. */ }
    refreshing = null;
  }, 250);
}

async function refresh() {
  const parts = all("[data-live]");
  if (!parts.length) return;
  const { page, ok } = await fetchPage(location.href);
  if (!ok) return;
  for (const part of parts) {
    const newer = part.id && page.getElementById(part.id);
    if (!newer) continue;
    if (part.dataset.live === "list") mergeList(part, newer);
    else swap(part, newer);
  }
}

// Forms that change something on this page, such as the box of an open item: sent without leaving the page.
addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-in-place]")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => null);
  // Anything but a redirect is an error, and the page that explains it.
  if (response?.type === "opaqueredirect") await refresh();
  else form.submit();
});

// Event stream. Hidden tabs close it, because browsers allow only six connections per server.

let stream = null;
let lastEvent = "";

function listen() {
  const state = one("[data-live-state]");
  const connect = () => {
    if (stream || document.hidden) return;
    stream = new EventSource(`/api/events${lastEvent ? `?last_event_id=${lastEvent}` : ""}`);
    stream.onopen = () => { state.hidden = false; state.dataset.liveState = "on"; state.textContent = "live"; };
    stream.onerror = () => { state.dataset.liveState = "off"; state.textContent = "disconnected"; };
    for (const name of ["session_started", "session_completed", "prompt", "observation", "summary", "note", "queue", "health"]) {
      stream.addEventListener(name, (event) => {
        if (event.lastEventId) lastEvent = event.lastEventId;
        refreshSoon();
      });
    }
    stream.addEventListener("forgotten", (event) => {
      if (event.lastEventId) lastEvent = event.lastEventId;
      removeMemory(JSON.parse(event.data).id);
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { stream?.close(); stream = null; } else { connect(); refreshSoon(); }
  });
  connect();
}

function removeMemory(id) {
  const key = CSS.escape(id);
  for (const item of all(`.list > [data-key="${key}"], .outcomes > [data-key="${key}"]`)) item.remove();
  for (const toast of all(`#going > [data-key="${key}"]`)) toast.remove();
  held = held.filter((item) => item.dataset.key !== id);
  showHeldCount();
  if (decodeURIComponent(location.pathname) === `/memories/${id}`) {
    const main = one("main");
    const heading = document.createElement("h1");
    heading.textContent = "Forgotten";
    const text = document.createElement("p");
    text.className = "lead";
    text.textContent = `${id} was deleted permanently.`;
    main.replaceChildren(heading, text);
  }
}

// Forms that update their results while the user types.

function updateWhileTyping(form) {
  let timer = null;
  let newest = 0;
  for (const button of all("[data-auto-hide]", form)) button.hidden = true;
  const update = async () => {
    const number = ++newest;
    const url = `${form.getAttribute("action")}?${query(form)}`;
    const { page, ok } = await fetchPage(url);
    if (number !== newest || !ok) return;
    const part = document.getElementById(form.dataset.auto);
    const newer = page.getElementById(form.dataset.auto);
    if (!newer) return;
    part.replaceChildren(...newer.childNodes);
    formatTimes(part);
    history.replaceState(null, "", url);
    document.title = page.title;
  };
  const updateSoon = (wait) => { clearTimeout(timer); timer = setTimeout(() => update().catch(() => {}), wait); };
  form.addEventListener("input", () => updateSoon(140));
  form.addEventListener("change", () => updateSoon(0));
  form.addEventListener("submit", (event) => {
    if (event.submitter?.formMethod === "post") return;
    event.preventDefault();
    updateSoon(0);
  });
}

// Returns the form's fields as a query string. Empty fields are omitted, except where they mean "none selected".
function query(form) {
  const pairs = [...new FormData(form)];
  return new URLSearchParams(pairs.filter(([name, value]) => value !== "" || ["types", "concepts"].includes(name)));
}

// Suggestions below the search box, and the command palette: pages by name, then memories.

function entry({ text, href, kind }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = href;
  if (kind) {
    const label = document.createElement("span");
    label.className = "kind";
    label.dataset.kind = kind;
    label.textContent = kind;
    link.append(label);
  }
  link.append(text);
  item.append(link);
  return item;
}

async function memories(text) {
  const { page, ok } = await fetchPage(`/search?${new URLSearchParams({ q: text })}`);
  if (!ok) return [];
  return all("#results .item", page).slice(0, 7).map((item) => {
    const link = one(".title", item);
    return { text: link.textContent, href: link.getAttribute("href"), kind: item.dataset.kind };
  });
}

function suggest(box, list, pages) {
  let newest = 0;
  let timer = null;
  const show = (entries) => {
    list.replaceChildren(...entries.map(entry));
    list.hidden = !entries.length;
    list.dataset.words = box.value.trim();
  };
  const update = async () => {
    const number = ++newest;
    const text = box.value.trim();
    const named = pages(text.toLowerCase());
    if (text.length < 2) return show(named);
    const found = await memories(text);
    if (number === newest) show([...named, ...found]);
  };
  const step = (event, by) => {
    const links = all("a", list);
    const next = links.indexOf(document.activeElement) + by;
    event.preventDefault();
    (links[next] ?? (next < 0 ? box : links.at(-1)))?.focus();
  };
  const updateSoon = () => { clearTimeout(timer); timer = setTimeout(() => update().catch(() => {}), 120); };
  box.addEventListener("input", updateSoon);
  const around = box.parentElement;
  around.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") step(event, 1);
    if (event.key === "ArrowUp") step(event, -1);
    if (event.key === "Escape" && !list.hidden && list.classList.contains("suggest")) { show([]); box.focus(); }
  });
  around.addEventListener("focusout", (event) => {
    if (list.classList.contains("suggest") && !around.contains(event.relatedTarget)) list.hidden = true;
  });
  return updateSoon;
}

const palette = one("#palette");
const paletteBox = one("#palette input");
const pageEntries = all(".side nav a").map((link) => ({ text: link.textContent, href: link.getAttribute("href"), kind: "page" }));
const updatePalette = palette && suggest(paletteBox, one("#palette ul"), (text) => pageEntries.filter((page) => page.text.toLowerCase().includes(text)));

function openPalette() {
  if (palette.open) return;
  one("dialog[open]")?.close();
  palette.showModal();
  paletteBox.value = "";
  updatePalette();
}

// Enter opens the first entry, or searches if the entries are not of these words yet. Escape in a search box would only clear it.
paletteBox?.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { event.preventDefault(); palette.close(); }
  if (event.key !== "Enter") return;
  event.preventDefault();
  const first = one("#palette a");
  if (first && one("#palette ul").dataset.words === paletteBox.value.trim()) first.click();
  else location.assign(`/search?${new URLSearchParams({ q: paletteBox.value })}`);
});
palette?.addEventListener("click", (event) => { if (event.target === palette) palette.close(); });

// Settings: shows those with the typed words.

function filterSettings(box) {
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const setting of all(".setting")) setting.hidden = !words.every((word) => setting.textContent.toLowerCase().includes(word) || setting.dataset.name.includes(word));
    for (const section of all("section.panel")) section.hidden = words.length > 0 && !one(".setting:not([hidden])", section);
  });
}

// Theme.

function chooseTheme(form) {
  const order = ["auto", "light", "dark"];
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter ?? one("button", form);
    const theme = button.value;
    fetch("/theme", { method: "POST", body: new URLSearchParams({ theme }), redirect: "manual" });
    root.dataset.theme = theme;
    one("[data-theme-name]", form).textContent = theme;
    button.value = order[(order.indexOf(theme) + 1) % 3];
  });
}

// Keyboard shortcuts.

const isInput = (node) => node.matches?.("input, textarea, select, [contenteditable]");

function current() {
  return document.activeElement?.closest?.("[data-item]");
}

function move(step) {
  const items = all("main [data-item]").filter((item) => item.offsetParent);
  if (!items.length) return;
  const at = items.indexOf(current());
  const next = items[at < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + step))];
  one("a, button", next)?.focus();
  next.scrollIntoView({ block: "nearest" });
}

async function pin() {
  const here = one('form[data-shortcut="p"]');
  if (here) return here.requestSubmit();
  const item = current();
  const url = item && one("a.title", item)?.getAttribute("href");
  if (!url?.startsWith("/memories/")) return;
  await fetch(`${url}/pin`, { method: "POST", body: new URLSearchParams({ to: location.pathname }), redirect: "manual" });
  refreshSoon();
}

function edit() {
  const here = one('a[data-shortcut="e"]');
  if (here) return here.click();
  const url = one("a.title", current() ?? document.createElement("i"))?.getAttribute("href");
  if (url?.startsWith("/memories/")) location.assign(`${url}?edit`);
}

function search() {
  const box = one("main [data-search]") ?? one("[data-search]");
  box?.focus();
  box?.select();
}

const keys = {
  "/": search,
  j: () => move(1),
  k: () => move(-1),
  e: edit,
  p: pin,
  n: showNew,
  "?": () => one("#keys").showModal(),
  ArrowLeft: () => one("[data-prev]")?.click(),
  ArrowRight: () => one("[data-next]")?.click(),
};

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); return openPalette(); }
  if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
  if (isInput(event.target)) {
    if (event.key === "Escape") event.target.blur();
    // Arrow down moves from the search box to the first hit.
    if (event.key === "ArrowDown" && event.target.matches("main [data-search]")) { event.preventDefault(); move(1); }
    return;
  }
  const action = keys[event.key];
  if (!action) return;
  if (!event.key.startsWith("Arrow") || one("[data-prev], [data-next]")) event.preventDefault();
  action();
});

// Replay: shows the next turn every 2.5 seconds.

function replay() {
  const state = "backstory-replay";
  const button = one("[data-play]");
  const next = one("[data-next]");
  let timer = null;
  const stop = () => { clearTimeout(timer); sessionStorage.removeItem(state); if (button) button.textContent = "Play"; };
  const play = () => {
    sessionStorage.setItem(state, location.pathname);
    button.textContent = "Pause";
    timer = setTimeout(() => next.click(), 2500);
  };
  if (!button || !next) return sessionStorage.removeItem(state);
  button.hidden = false;
  button.addEventListener("click", () => (sessionStorage.getItem(state) ? stop() : play()));
  if (sessionStorage.getItem(state) === location.pathname) play();
}

// Setup.

formatTimes();
setInterval(formatTimes, 30000);
for (const box of all("[data-find]")) filterSettings(box);
const quick = one("#quick");
if (quick) suggest(quick, one(".suggest"), () => []);
for (const form of all("form[data-auto]")) updateWhileTyping(form);
for (const form of all("form[data-theme-form]")) chooseTheme(form);
for (const button of all("[data-keys]")) { button.hidden = false; button.addEventListener("click", keys["?"]); }
one("[data-new]")?.addEventListener("click", showNew);
addEventListener("scroll", () => document.body.toggleAttribute("data-scrolled", scrollY > 120), { passive: true });
setInterval(() => {
  for (const count of all("[data-countdown]")) count.textContent = Math.max(0, Number(count.textContent) - 1);
}, 1000);
replay();
if (window.EventSource) listen();
