// What needs a script: pages that change by themselves, search while typing, keys, and the browser's own time zone.
// Everything else works without it. Text from sessions is never parsed here: the server's pages are taken over as they are.
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
  if (seconds < 5184000) return `${Math.floor((seconds + 43200) / 86400)} days ago`;
  if (seconds < 63072000) return `${Math.floor(seconds / 2629800)} months ago`;
  return `${Math.floor(seconds / 31557600)} years ago`;
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const pad = (number) => String(number).padStart(2, "0");

function tellTimes(within = document) {
  for (const time of all("time[data-time]", within)) {
    const at = new Date(time.dateTime);
    if (time.dataset.time === "ago") {
      const text = ago(Date.now() - at);
      if (time.textContent !== text) time.textContent = text;
    } else {
      time.textContent = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}`;
    }
    if (!time.dataset.zone) time.title = exact.format(at);
  }
}

// Pages of the server, taken over in part.

async function fetchPage(address, options = {}) {
  const answer = await fetch(address, { headers: { accept: "text/html" }, ...options });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return { page, address: answer.url, ok: answer.ok };
}

// Whether somebody is at work in a part of the page: then it stays as it is.
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

// Puts a newer state in place of an older one: what is folded out stays so, and where the focus was it is again.
function swap(part, newer) {
  if (sameText(part, newer) || isInUse(part)) return;
  const open = all("details", part).map((details) => details.open);
  const key = document.activeElement?.closest?.("[data-key]")?.dataset.key;
  const had = part.contains(document.activeElement);
  for (const { name, value } of [...newer.attributes]) part.setAttribute(name, value);
  for (const { name } of [...part.attributes]) if (!newer.hasAttribute(name)) part.removeAttribute(name);
  part.replaceChildren(...newer.childNodes);
  all("details", part).forEach((details, at) => { if (open[at] !== undefined) details.open = open[at]; });
  tellTimes(part);
  if (had && key) one(`[data-key="${CSS.escape(key)}"] a`, part)?.focus({ preventScroll: true });
}

// Lists: what changed is changed in its place, what is gone goes, what is new waits when somebody reads further down.

let waiting = [];

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
    for (const { item } of fresh) append(list, item, null);
  } else if (isReading && known.size) {
    waiting = fresh.filter(({ isBelowKnown }) => !isBelowKnown).map(({ item }) => item);
  } else {
    for (const { item } of fresh.filter(({ isBelowKnown }) => !isBelowKnown || !known.size).reverse()) append(list, item, list.firstChild);
    waiting = [];
  }
  showWaiting();
  one(".empty", list.parentElement)?.toggleAttribute("hidden", list.children.length > 0);
}

function append(list, item, before) {
  const node = document.importNode(item, true);
  node.classList.add("fresh");
  list.insertBefore(node, before);
  tellTimes(node);
}

function showWaiting() {
  const button = one("[data-new]");
  if (!button) return;
  button.hidden = waiting.length === 0;
  button.textContent = `${waiting.length} new`;
}

function showNew() {
  const list = one('[data-live="list"]');
  if (!list || !waiting.length) return;
  for (const item of [...waiting].reverse()) append(list, item, list.firstChild);
  waiting = [];
  showWaiting();
  scrollTo({ top: 0 });
  one("a", list.firstElementChild)?.focus({ preventScroll: true });
}

let refreshing = null;

// Many events in a row are one look at the server.
function refreshSoon() {
  refreshing ??= setTimeout(async () => {
    try { await refresh(); } catch { /* The stream says when the server is back. */ }
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

// The stream. A tab that nobody sees lets go of it: browsers allow six connections to a server.

let stream = null;
let lastEvent = "";

function listen() {
  const state = one("[data-live-state]");
  const connect = () => {
    if (stream || document.hidden) return;
    stream = new EventSource(`/api/events${lastEvent ? `?last_event_id=${lastEvent}` : ""}`);
    stream.onopen = () => { state.hidden = false; state.dataset.liveState = "on"; state.textContent = "live"; };
    stream.onerror = () => { state.dataset.liveState = "off"; state.textContent = "not connected"; };
    for (const name of ["session_started", "session_completed", "prompt", "observation", "summary", "note", "queue", "health"]) {
      stream.addEventListener(name, (event) => {
        if (event.lastEventId) lastEvent = event.lastEventId;
        refreshSoon();
      });
    }
    stream.addEventListener("forgotten", (event) => {
      if (event.lastEventId) lastEvent = event.lastEventId;
      forgotten(JSON.parse(event.data).id);
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { stream?.close(); stream = null; } else { connect(); refreshSoon(); }
  });
  connect();
}

function forgotten(id) {
  const key = CSS.escape(id);
  for (const item of all(`.list > [data-key="${key}"]`)) item.remove();
  for (const toast of all(`#going > [data-key="${key}"]`)) toast.remove();
  waiting = waiting.filter((item) => item.dataset.key !== id);
  showWaiting();
  if (decodeURIComponent(location.pathname) === `/memories/${id}`) {
    const main = one("main");
    const heading = document.createElement("h1");
    heading.textContent = "Forgotten";
    const words = document.createElement("p");
    words.className = "lead";
    words.textContent = `No byte of ${id} is left.`;
    main.replaceChildren(heading, words);
  }
}

// Forms that answer while they are filled in.

function answerWhileTyping(form) {
  let timer = null;
  let newest = 0;
  for (const button of all("[data-auto-hide]", form)) button.hidden = true;
  const ask = async () => {
    const number = ++newest;
    const address = `${form.getAttribute("action")}?${filled(form)}`;
    const { page, ok } = await fetchPage(address);
    if (number !== newest || !ok) return;
    const part = document.getElementById(form.dataset.auto);
    const newer = page.getElementById(form.dataset.auto);
    if (!newer) return;
    part.replaceChildren(...newer.childNodes);
    tellTimes(part);
    history.replaceState(null, "", address);
    document.title = page.title;
  };
  const askSoon = (wait) => { clearTimeout(timer); timer = setTimeout(() => ask().catch(() => {}), wait); };
  form.addEventListener("input", () => askSoon(140));
  form.addEventListener("change", () => askSoon(0));
  form.addEventListener("submit", (event) => {
    if (event.submitter?.formMethod === "post") return;
    event.preventDefault();
    askSoon(0);
  });
}

// What a form says; what is empty stays out of the address, except where it means "none of these".
function filled(form) {
  const pairs = [...new FormData(form)];
  return new URLSearchParams(pairs.filter(([name, value]) => value !== "" || ["types", "concepts"].includes(name)));
}

// Light or dark.

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

// Keys.

const isWriting = (node) => node.matches?.("input, textarea, select, [contenteditable]");

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
  const address = item && one("a.title", item)?.getAttribute("href");
  if (!address?.startsWith("/memories/")) return;
  await fetch(`${address}/pin`, { method: "POST", body: new URLSearchParams({ to: location.pathname }), redirect: "manual" });
  refreshSoon();
}

function edit() {
  const here = one('a[data-shortcut="e"]');
  if (here) return here.click();
  const address = one("a.title", current() ?? document.createElement("i"))?.getAttribute("href");
  if (address?.startsWith("/memories/")) location.assign(`${address}?edit`);
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
  if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
  if (isWriting(event.target)) {
    if (event.key === "Escape") event.target.blur();
    // From the search to its first hit.
    if (event.key === "ArrowDown" && event.target.matches("main [data-search]")) { event.preventDefault(); move(1); }
    return;
  }
  const act = keys[event.key];
  if (!act) return;
  if (!event.key.startsWith("Arrow") || one("[data-prev], [data-next]")) event.preventDefault();
  act();
});

// Replay: the next turn every few seconds.

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

// Begin.

tellTimes();
setInterval(tellTimes, 30000);
for (const form of all("form[data-auto]")) answerWhileTyping(form);
for (const form of all("form[data-theme-form]")) chooseTheme(form);
for (const button of all("[data-keys]")) { button.hidden = false; button.addEventListener("click", keys["?"]); }
one("[data-new]")?.addEventListener("click", showNew);
addEventListener("scroll", () => document.body.toggleAttribute("data-scrolled", scrollY > 120), { passive: true });
setInterval(() => {
  for (const count of all("[data-countdown]")) count.textContent = Math.max(0, Number(count.textContent) - 1);
}, 1000);
replay();
if (window.EventSource) listen();
