/* What it reads: docs/design.md */
(() => {
	"use strict";
	const doc = document;
	const all = (css, root = doc) => [...root.querySelectorAll(css)];
	const one = (css) => doc.querySelector(css);
	const seen = (el) => el.getClientRects().length > 0;
	const body = doc.body;
	const on = (name, act) => doc.addEventListener(name, act);
	const make = (tag, more) => Object.assign(doc.createElement(tag), more);

	const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
	if (zone) doc.cookie = `tz=${zone};path=/;max-age=31536000;samesite=lax`;

	// -- keys
	const typing = (el) => el.closest("input:not([type=checkbox], [type=radio]), textarea, select");

	function step(by) {
		const rows = all("[data-row]").filter(seen);
		const here = rows.indexOf(doc.activeElement.closest("[data-row]"));
		const marked = rows.findIndex((row) => row.matches("[aria-current]"));
		const from = here >= 0 ? here : marked >= 0 ? marked : by > 0 ? -1 : rows.length;
		const next = rows[Math.min(Math.max(from + by, 0), rows.length - 1)];
		next?.focus();
		next?.scrollIntoView({ block: "nearest" });
	}

	function help() {
		const dialog = one("#keys");
		if (!dialog) return;
		const lines = all("[data-key]").filter(seen).flatMap((el) => {
			const key = make("dt");
			const says = make("dd");
			key.append(make("kbd", { textContent: el.dataset.key }));
			const label = el.cloneNode(true);
			all("kbd, .count", label).forEach((part) => part.remove());
			says.textContent = el.dataset.says || el.getAttribute("aria-label") || label.textContent.trim();
			return [key, says];
		});
		dialog.querySelector("[data-page-keys]").replaceChildren(...lines);
		dialog.showModal();
	}

	on("keydown", (event) => {
		const at = event.target;
		if (event.key === "Escape") {
			const open = at.closest("details.menu[open], details.ask[open]");
			if (open) { open.open = false; open.querySelector("summary").focus(); }
			else if (typing(at)) at.blur();
			return;
		}
		if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && at.matches("textarea")) at.form.requestSubmit();
		if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
		if (body.dataset.keys === "off" || typing(at) || one("dialog[open]")) return;
		const found = all(`[data-key="${CSS.escape(event.key)}"]`).find((el) => seen(el) && !el.disabled);
		if (found) {
			found.focus({ preventScroll: true });
			if (found.matches("input, textarea, select")) found.select?.();
			else if (!event.repeat) found.click();
		} else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
		else if (event.key === "?") help();
		else return;
		event.preventDefault();
	});

	on("click", (event) => {
		for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
		event.target.closest("[data-dismiss]")?.closest(".note")?.remove();
		const copy = event.target.closest("[data-copy]")?.dataset.copy;
		if (copy) { one(`#${copy}`).select(); doc.execCommand("copy"); }
	});

	function count(output) {
		const field = doc.getElementById(output.htmlFor.value);
		if (!field) return;
		const size = new TextEncoder().encode(field.value.replace(/\r\n?/g, "\n")).length;
		const local = (number) => Number(number).toLocaleString(doc.documentElement.lang);
		output.textContent = output.dataset.says.replace("{n}", local(size)).replace("{max}", local(output.dataset.max));
		output.classList.toggle("over", size > output.dataset.max);
	}

	// -- drafts
	const can = (act) => { try { return act(sessionStorage); } catch { return null; } };
	const store = {
		get: (key) => can((kept) => JSON.parse(kept.getItem(key))),
		set: (key, value) => can((kept) => kept.setItem(key, JSON.stringify(value))),
		drop: (key) => can((kept) => kept.removeItem(key)),
	};
	const keyOf = (form) => `draft:${form.dataset.draft}`;
	const fields = (form) => [...form.elements].filter((el) => el.name && el.matches("textarea, input:not([type]), input[type=text]"));

	function save(form) {
		const words = fields(form).filter((el) => el.value !== el.defaultValue).map((el) => [el.name, el.defaultValue, el.value]);
		if (words.length) store.set(keyOf(form), { words });
		else store.drop(keyOf(form));
	}

	function restore(form) {
		for (const [name, was, typed] of store.get(keyOf(form))?.words ?? []) {
			const el = fields(form).find((field) => field.name === name && field.value === was);
			if (el) { el.value = typed; el.dispatchEvent(new Event("input", { bubbles: true })); }
		}
	}

	const back = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
	for (const key of can(Object.keys) ?? []) {
		const draft = key.startsWith("draft:") && store.get(key);
		if (draft?.sent && back) store.set(key, { words: draft.words });
		else if (draft?.sent) store.drop(key);
	}

	on("input", (event) => {
		all("output.counter").filter((output) => output.htmlFor.contains(event.target.id)).forEach(count);
		const form = event.target.closest("form[data-draft]");
		if (form) save(form);
	});
	on("submit", (event) => {
		const key = event.target.dataset.draft && keyOf(event.target);
		const draft = key && store.get(key);
		if (draft) store.set(key, { ...draft, sent: true });
	});
	on("change", ({ target: at }) => {
		if (at.matches("[data-auto]")) at.form.requestSubmit();
		if (at.dataset.paths) at.form.elements[at.dataset.paths].value = [...at.files].map((file) => file.webkitRelativePath || file.name).join("\n");
	});

	// -- clocks
	const due = new WeakMap();
	function poll() {
		if (doc.hidden || !window.htmx) return;
		const now = Date.now();
		for (const { dataset: at, lastElementChild: el } of all("[data-clock]")) {
			const age = Math.max(now - at.clock, 0);
			el.textContent = new Date(age).toISOString().slice(11, 19);
			at.tone = age > at.bad ? "bad" : age > at.warn ? "warn" : "ok";
		}
		for (const el of all("[data-poll]")) {
			const first = !due.has(el);
			if (now < due.get(el)) continue;
			due.set(el, now + el.dataset.poll * 1000);
			if (!first) htmx.trigger(el, "poll");
		}
	}
	setInterval(poll, 1000);
	on("visibilitychange", poll);

	// -- swaps
	function tell(text) {
		const live = one("#live");
		if (live) { live.textContent = ""; setTimeout(() => { live.textContent = text; }, 50); }
	}
	let held, top = 0;
	function slide() {
		const row = one(".queue [aria-current]");
		if (!row) return;
		const queue = row.offsetParent;
		const at = row.offsetTop - 50;
		queue.scrollTop = at < top || at > top + queue.clientHeight - 120 ? at : top;
	}
	on("htmx:beforeSwap", () => {
		const el = doc.activeElement;
		top = one(".queue")?.scrollTop ?? 0;
		held = el === body ? null : [el.id && `#${CSS.escape(el.id)}`, el.getAttribute("href") && `a[href="${CSS.escape(el.getAttribute("href"))}"]`, el.name && `[name="${CSS.escape(el.name)}"]`];
	});
	on("htmx:afterSettle", (event) => {
		const target = event.detail.elt;
		slide();
		prepare(target);
		const title = one("[data-title]")?.dataset.title ?? doc.title;
		if (title !== doc.title) { doc.title = title; tell(title); }
		if (held && doc.activeElement === body) {
			const same = held.filter(Boolean).map(one).find(Boolean) ?? target;
			if (same === target) target.tabIndex = -1;
			same.focus({ preventScroll: true });
		}
		held = null;
	});
	on("announce", (event) => tell(event.detail.value));
	on("htmx:afterRequest", (event) => {
		const form = event.detail.elt.closest("form[data-draft]");
		if (!form || event.detail.requestConfig.verb !== "post") return;
		if (event.detail.successful) store.drop(keyOf(form));
		else save(form);
	});

	function failed(text) {
		const item = make("li", { className: "note bad", textContent: text, role: "alert" });
		one("#messages")?.replaceChildren(item);
		item.scrollIntoView({ block: "nearest" });
	}
	on("htmx:responseError", ({ detail: { xhr } }) => failed(`${body.dataset.failed} (${xhr.status} · ${xhr.getResponseHeader("X-Request-Id")})`));
	on("htmx:sendError", () => failed(body.dataset.away));

	function prepare(root) {
		all("output.counter", root).forEach(count);
		all("form[data-draft]", root).forEach(restore);
		all("[data-focus]", root)[0]?.focus();
	}
	slide();
	prepare(doc);
})();
