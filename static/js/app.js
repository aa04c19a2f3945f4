/* What it reads: docs/design.md */
const doc = document;
const all = (css, root = doc) => [...root.querySelectorAll(css)];
const one = (css) => doc.querySelector(css);
const seen = (el) => el.getClientRects()[0];
const body = doc.body;
const near = { block: "nearest" };
const on = (name, act) => doc.addEventListener(name, act);
const make = (tag, more) => Object.assign(doc.createElement(tag), more);

doc.cookie = `tz=${Intl.DateTimeFormat().resolvedOptions().timeZone};path=/;max-age=31536000;samesite=lax`;

const typing = (el) => el.closest("input:not([type=checkbox], [type=radio]), textarea, select");

function step(by) {
	const rows = all("[data-row]").filter(seen);
	const here = rows.indexOf(doc.activeElement.closest("[data-row]") ?? rows.find((row) => row.matches("[aria-current]")));
	const from = here < 0 && by < 0 ? rows.length : here;
	const next = rows[Math.min(Math.max(from + by, 0), rows.length - 1)];
	next?.focus();
	next?.scrollIntoView(near);
}

function help() {
	const dialog = one("#keys");
	if (!dialog) return;
	const lines = all("[data-key]").filter(seen).flatMap((el) => {
		const key = make("dt");
		key.append(make("kbd", { textContent: el.dataset.key }));
		const label = el.cloneNode(true);
		all("kbd, .count", label).forEach((part) => part.remove());
		return [key, make("dd", { textContent: el.dataset.says || el.ariaLabel || label.textContent.trim() })];
	});
	one("[data-page-keys]").replaceChildren(...lines);
	dialog.showModal();
}

on("keydown", (ev) => {
	const { key, target: at } = ev;
	const mod = ev.ctrlKey || ev.metaKey;
	if (key === "Escape") {
		const open = at.closest("details.menu[open], details.ask[open]");
		if (open) { open.open = false; open.querySelector("summary").focus(); }
		else if (typing(at)) at.blur();
		return;
	}
	if (key === "Enter" && mod && at.matches("textarea")) at.form.requestSubmit();
	if (mod || ev.altKey || ev.isComposing || ev.defaultPrevented) return;
	if (body.dataset.keys === "off" || typing(at) || one("dialog[open]")) return;
	const found = all(`[data-key="${CSS.escape(key)}"]`).find((el) => seen(el) && !el.disabled);
	if (found) {
		found.focus({ preventScroll: true });
		if (typing(found)) found.select?.();
		else if (!ev.repeat) found.click();
	} else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
	else if (key === "?") help();
	else return;
	ev.preventDefault();
});

on("click", ({ target: at }) => {
	all("details.menu[open]").forEach((menu) => { menu.open = menu.contains(at); });
	at.closest("[data-dismiss]")?.closest(".note")?.remove();
	const copy = at.closest("[data-copy]")?.dataset.copy;
	if (copy) { one(`#${copy}`).select(); doc.execCommand("copy"); }
});

function count(output) {
	const field = one(`#${output.htmlFor}`);
	if (!field) return;
	const { size } = new Blob([field.value.replace(/\r\n?/g, "\n")]);
	const local = (number) => (+number).toLocaleString(doc.documentElement.lang);
	output.textContent = output.dataset.says.replace("{n}", local(size)).replace("{max}", local(output.dataset.max));
	output.classList.toggle("over", size > output.dataset.max);
}

const can = (act) => { try { return act(sessionStorage); } catch {} };
const get = (key) => can((kept) => JSON.parse(kept.getItem(key)));
const set = (key, value) => can((kept) => kept.setItem(key, JSON.stringify(value)));
const drop = (key) => can((kept) => kept.removeItem(key));
const keyOf = (form) => `draft:${form.dataset.draft}`;
const fields = (form) => [...form.elements].filter((el) => el.name && el.matches("textarea, input:not([type]), [type=text]"));

function save(form) {
	const words = fields(form).filter((el) => el.value !== el.defaultValue).map((el) => [el.name, el.defaultValue, el.value]);
	if (words.length) set(keyOf(form), { words });
	else drop(keyOf(form));
}

function restore(form) {
	for (const [name, was, typed] of get(keyOf(form))?.words ?? []) {
		const el = fields(form).find((field) => field.name === name && field.value === was);
		if (el) { el.value = typed; el.dispatchEvent(new Event("input", { bubbles: true })); }
	}
}

const back = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
for (const key of can(Object.keys) ?? []) {
	const draft = key.startsWith("draft:") && get(key);
	if (draft?.sent) back ? set(key, { words: draft.words }) : drop(key);
}

on("input", ({ target: at }) => {
	all("output.counter").forEach(count);
	const form = at.closest("form[data-draft]");
	if (form) save(form);
});
on("submit", ({ target: form }) => {
	const draft = get(keyOf(form));
	if (draft) set(keyOf(form), { ...draft, sent: true });
});
on("change", ({ target: at }) => {
	if (at.matches("[data-auto]")) at.form.requestSubmit();
	if (at.dataset.paths) at.form.elements[at.dataset.paths].value = [...at.files].map((file) => file.webkitRelativePath || file.name).join("\n");
});

const due = new WeakMap();
const held = new Set();
const news = one("#news-held");
let stream;
// Nothing moves under a pointer.
const under = (el) => (el.closest("[data-live]") ?? el).matches(":hover:not([data-moves]), :has(:is(a, button, summary):hover)");
const look = () => all("[data-poll]").forEach((el) => due.set(el, 0));

function poll() {
	if (doc.hidden) return;
	const now = Date.now();
	for (const { dataset: at, lastElementChild: el } of all("[data-clock]")) {
		const age = Math.max(now - at.clock, 0);
		el.textContent = new Date(age).toISOString().slice(11, 19);
		at.tone = age > at.bad ? "bad" : age > at.warn ? "warn" : "ok";
	}
	for (const el of held) if (!under(el)) { held.delete(el); due.set(el, 0); }
	if (news) news.hidden = !held.size;
	for (const el of all("[data-poll]")) {
		const first = !due.has(el);
		if (now < due.get(el)) continue;
		due.set(el, now + el.dataset.poll * 1000);
		if (!first) htmx.trigger(el, "poll");
	}
}
function wake() {
	stream?.close();
	const at = doc.hidden ? null : one("[data-stream]");
	stream = at && new EventSource(at.dataset.stream);
	if (stream) stream.onopen = stream.onmessage = look;
}
setInterval(poll, 1e3);
wake();
on("visibilitychange", () => { look(); wake(); });

function tell(text) {
	const live = one("#live");
	live.textContent = "";
	setTimeout(() => { live.textContent = text; }, 50);
}
let focus, top = 0;
function slide() {
	const row = one(".queue [aria-current]");
	if (!row) return;
	const queue = row.offsetParent;
	const at = row.offsetTop - 50;
	queue.scrollTop = at < top || at > top + queue.clientHeight - 50 - row.offsetHeight ? at : top;
}
on("htmx:beforeSwap", ({ detail: at }) => {
	if (at.requestConfig.triggeringEvent?.type === "poll" && at.shouldSwap && under(at.target)) {
		at.shouldSwap = false;
		held.add(at.target);
		return;
	}
	const el = doc.activeElement;
	top = one(".queue")?.scrollTop ?? 0;
	focus = el === body ? null : ["id", "href", "name"].filter((key) => el.getAttribute(key)).map((key) => `[${key}="${CSS.escape(el.getAttribute(key))}"]`);
});
on("htmx:afterSwap", slide);
on("htmx:afterSettle", ({ detail: { elt: target } }) => {
	prepare(target);
	const title = one("[data-title]")?.dataset.title ?? doc.title;
	if (title !== doc.title) { doc.title = title; tell(title); }
	if (focus && doc.activeElement === body) {
		const same = focus.map(one).find(Boolean) ?? target;
		if (same === target) target.tabIndex = -1;
		same.focus({ preventScroll: true });
	}
	focus = null;
});
on("announce", ({ detail }) => tell(detail.value));
on("htmx:afterRequest", ({ detail: at }) => {
	const form = at.elt.closest("form[data-draft]");
	if (!form || at.requestConfig.verb !== "post") return;
	at.successful ? drop(keyOf(form)) : save(form);
});

function failed(text) {
	const item = make("li", { className: "note bad", role: "alert", textContent: text });
	one("#messages")?.replaceChildren(item);
	item.scrollIntoView(near);
}
on("htmx:responseError", ({ detail: { xhr } }) => failed(`${body.dataset.failed} (${xhr.status} · ${xhr.getResponseHeader("X-Request-Id")})`));
on("htmx:sendError", () => failed(body.dataset.away));

function prepare(root) {
	all("output.counter", root).forEach(count);
	all("form[data-draft]", root).forEach(restore);
	all("[data-focus]", root)[0]?.focus({ preventScroll: true });
}
slide();
prepare(doc);
