/* The one script of ours: keys, byte counters, drafts, polling, focus. Every page works without it.
   docs/design.md tells which attributes it reads. */
(() => {
  "use strict";
  const all = (css, root = document) => [...root.querySelectorAll(css)];
  const one = (css) => document.querySelector(css);
  const seen = (el) => el.getClientRects().length > 0;
  const body = document.body;

  // -- the reader's time zone, for a server that shows instants in it
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `tz=${zone};path=/;max-age=31536000;samesite=lax`;

  // -- keys: j/k through [data-row], "/" to the search box, "?" for help, data-key="x" on anything
  const typing = (el) => el.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  function step(by) {
    const rows = all("[data-row]").filter(seen);
    if (!rows.length) return;
    const here = rows.indexOf(document.activeElement.closest("[data-row]"));
    const marked = rows.findIndex((row) => row.matches("[aria-current]"));
    const from = here >= 0 ? here : marked >= 0 ? marked : by > 0 ? -1 : rows.length;
    const next = rows[Math.min(Math.max(from + by, 0), rows.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  function help() {
    const dialog = one("#keys");
    if (!dialog || !dialog.showModal) return;
    const list = dialog.querySelector("[data-page-keys]");
    list.replaceChildren();
    for (const el of all("[data-key]").filter(seen)) {
      const key = document.createElement("dt");
      key.append(Object.assign(document.createElement("kbd"), { textContent: el.dataset.key }));
      const bare = el.cloneNode(true);
      bare.querySelectorAll("kbd").forEach((kbd) => kbd.remove());
      const says = el.getAttribute("aria-label") || el.dataset.says || bare.textContent;
      list.append(key, Object.assign(document.createElement("dd"), { textContent: says.trim().replace(/\s+/g, " ") }));
    }
    dialog.showModal();
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const open = event.target.closest("details.menu[open], details.ask[open]");
      if (open) { open.open = false; open.querySelector("summary").focus(); }
      else if (typing(event.target)) event.target.blur();
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.preventDefault();
      event.target.form?.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (body.dataset.keys === "off" || typing(event.target) || one("dialog[open]")) return;
    const marked = all(`[data-key="${CSS.escape(event.key)}"]`).find((el) => seen(el) && !el.disabled);
    if (marked) {
      event.preventDefault();
      if (marked.matches("input, textarea, select")) { marked.focus(); marked.select?.(); }
      else { marked.focus({ preventScroll: true }); if (!event.repeat) marked.click(); }
    } else if (event.key === "j" || event.key === "k") { event.preventDefault(); step(event.key === "j" ? 1 : -1); }
    else if (event.key === "?") { event.preventDefault(); help(); }
  });

  document.addEventListener("click", (event) => {
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    const shut = event.target.closest("[data-dismiss]");
    if (shut) shut.closest(".note, li")?.remove();
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const field = document.getElementById(copy.dataset.copy);
      field.select();
      navigator.clipboard?.writeText(field.value).then(() => tell(copy.dataset.done));
    }
  });

  // -- bytes: <output class="counter" for="id" data-max="160" data-says="{n} / {max}">
  const encoder = new TextEncoder();
  function count(output) {
    const field = document.getElementById(output.htmlFor.value);
    if (!field) return;
    const n = encoder.encode(field.value.replace(/\r\n?/g, "\n")).length;
    output.textContent = output.dataset.says.replace("{n}", n.toLocaleString(document.documentElement.lang)).replace("{max}", Number(output.dataset.max).toLocaleString(document.documentElement.lang));
    output.classList.toggle("over", n > output.dataset.max);
  }

  // -- drafts: <form data-draft="key"> keeps what was typed in this tab until the server has answered
  const fields = (form) => [...form.elements].filter((el) => el.name && el.matches("textarea, input:not([type=hidden], [type=password], [type=file], [type=checkbox], [type=radio])"));
  const keep = {
    get: (key) => { try { return JSON.parse(sessionStorage.getItem(key)); } catch { return null; } },
    set: (key, value) => { try { sessionStorage.setItem(key, JSON.stringify(value)); } catch { /* full or forbidden: only a convenience */ } },
    drop: (key) => { try { sessionStorage.removeItem(key); } catch { /* as above */ } },
  };
  const draftOf = (form) => `draft:${form.dataset.draft}`;

  function save(form) {
    const words = {};
    for (const el of fields(form)) if (el.value !== el.defaultValue) words[el.name] = [el.defaultValue, el.value];
    if (Object.keys(words).length) keep.set(draftOf(form), { words });
    else keep.drop(draftOf(form));
  }

  function restore(form) {
    const draft = keep.get(draftOf(form));
    if (!draft?.words) return;
    for (const el of fields(form)) {
      const [was, typed] = draft.words[el.name] ?? [];
      // Only over the very text it was typed over: a newer one from the server wins.
      if (typed !== undefined && el.value === was) { el.value = typed; el.dispatchEvent(new Event("input", { bubbles: true })); }
    }
  }

  // A form that was sent without HTMX is done once any page of ours answers; "back" brings the words back.
  const back = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  try {
    for (const key of Object.keys(sessionStorage)) {
      const draft = key.startsWith("draft:") && keep.get(key);
      if (draft?.sent) { if (back) keep.set(key, { words: draft.words }); else keep.drop(key); }
    }
  } catch { /* storage is forbidden */ }

  document.addEventListener("input", (event) => {
    for (const output of all("output.counter")) if (output.htmlFor.contains(event.target.id)) count(output);
    const form = event.target.closest("form[data-draft]");
    if (form) save(form);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-draft]");
    const draft = form && keep.get(draftOf(form));
    if (draft) keep.set(draftOf(form), { ...draft, sent: true });
  });

  // The paths inside an uploaded folder, which browsers do not send: <input type=file data-paths="id of a hidden field">.
  document.addEventListener("change", (event) => {
    const to = event.target.files && document.getElementById(event.target.dataset.paths);
    if (to) to.value = [...event.target.files].map((file) => file.webkitRelativePath || file.name).join("\n");
  });

  // A choice that submits its form at once: <select data-auto>; the button beside it serves without this script.
  document.addEventListener("change", (event) => { if (event.target.matches("[data-auto]")) event.target.form.requestSubmit(); });

  // -- polling that rests in hidden tabs: <div hx-get="…" hx-trigger="poll" data-poll="10">
  const due = new WeakMap();
  const poll = () => {
    if (document.hidden || !window.htmx) return;
    for (const el of all("[data-poll]")) {
      if (!due.has(el)) due.set(el, Date.now() + el.dataset.poll * 1000);
      else if (Date.now() >= due.get(el)) { due.set(el, Date.now() + el.dataset.poll * 1000); window.htmx.trigger(el, "poll"); }
    }
  };
  setInterval(poll, 1000);
  document.addEventListener("visibilitychange", poll);

  // -- live clocks: <span data-clock="instant" data-warn="300" data-bad="600"><span data-count>4:05</span></span>
  setInterval(() => {
    if (document.hidden) return;
    for (const el of all("[data-clock]")) {
      const age = Math.max(0, Math.floor((Date.now() - Date.parse(el.dataset.clock)) / 1000));
      const two = (n) => String(n).padStart(2, "0");
      const [h, m, s] = [Math.floor(age / 3600), Math.floor(age / 60) % 60, age % 60];
      el.querySelector("[data-count]").textContent = h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
      el.dataset.tone = age > el.dataset.bad ? "bad" : age > el.dataset.warn ? "warn" : "ok";
    }
  }, 1000);

  // -- after a swap: focus goes back to where it was, the title follows, screen readers are told
  function tell(text) {
    const live = one("#live");
    if (live && text) { live.textContent = ""; setTimeout(() => { live.textContent = text; }, 50); }
  }
  let held = null;
  body.addEventListener("htmx:beforeSwap", () => {
    const el = document.activeElement;
    held = el && el !== body ? { id: el.id, name: el.name, href: el.getAttribute("href") } : null;
  });
  body.addEventListener("htmx:afterSettle", (event) => {
    const target = event.detail.elt;
    prepare(target);
    const titled = target.matches?.("[data-title]") ? target : target.querySelector?.("[data-title]");
    if (titled) { document.title = titled.dataset.title; tell(titled.dataset.title); }
    const asked = target.querySelector?.("[data-focus]");
    if (asked) asked.focus();
    else if (held && document.activeElement === body) {
      const same = (held.id && document.getElementById(held.id)) || (held.href && one(`a[href="${CSS.escape(held.href)}"]`)) || (held.name && one(`[name="${CSS.escape(held.name)}"]`));
      if (same) same.focus({ preventScroll: true });
      else { target.setAttribute?.("tabindex", "-1"); target.focus?.({ preventScroll: true }); }
    }
    held = null;
  });
  body.addEventListener("announce", (event) => tell(event.detail.value));
  body.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt.closest?.("form[data-draft]");
    if (form && event.detail.requestConfig?.verb === "post") { if (event.detail.successful) keep.drop(draftOf(form)); else save(form); }
  });

  // -- a failed request says so, and stays until it is read
  function failed(text) {
    const list = one("#messages");
    if (!list) return;
    const item = Object.assign(document.createElement("li"), { className: "note bad" });
    item.setAttribute("role", "alert");
    item.append(text);
    list.replaceChildren(item);
    item.scrollIntoView({ block: "nearest" });
  }
  body.addEventListener("htmx:responseError", (event) => {
    const id = event.detail.xhr.getResponseHeader("X-Request-Id");
    failed(`${body.dataset.failed} (${event.detail.xhr.status}${id ? ` · ${id}` : ""})`);
  });
  body.addEventListener("htmx:sendError", () => failed(body.dataset.away));

  function prepare(root) { all("output.counter", root).forEach(count); all("form[data-draft]", root).forEach(restore); }
  prepare(document);
})();
