"use strict";
// Shows what the events say. Every text is set as text: a name full of HTML is a name.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = 24; // classes own-0 to own-23
  const ORDER = { alarm: 0, waiting: 1, calm: 2, done: 2 };
  const at = (id) => document.getElementById(id);
  // Controls, also those that turn the direction of text, are shown as what they are.
  const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
  const visible = (letter) => `\\u${letter.codePointAt(0).toString(16).padStart(4, "0")}`;
  const write = (node, text) => {
    const shown = String(text).replace(HIDDEN, visible);
    if (node.textContent !== shown) node.textContent = shown;
  };
  let offset = 0; // milliseconds by which the clock of the server is ahead

  const passed = (since) => {
    const seconds = Math.max(0, Math.round((Date.now() + offset - Date.parse(since)) / 1000));
    if (!Number.isFinite(seconds)) return "";
    if (seconds < 90) return `${seconds} s`;
    const minutes = Math.round(seconds / 60);
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
  };
  const clocks = () => {
    document.querySelectorAll("[data-since]").forEach((node) => {
      write(node, (node.dataset.before || "") + passed(node.dataset.since) + (node.dataset.after || ""));
    });
  };
  const clock = (node, since, before, after) => {
    if (since) Object.assign(node.dataset, { since, before, after });
    else {
      delete node.dataset.since;
      write(node, "");
    }
  };
  const made = (name, parent, className = "") => {
    const node = document.createElement(name);
    node.className = className;
    parent.append(node);
    return node;
  };
  // As many children as there are items, each filled by `fill(child, item)`.
  const fillAll = (parent, items, make, fill) => {
    while (parent.children.length > items.length) parent.lastElementChild.remove();
    items.forEach((item, i) => fill(parent.children[i] || make(parent), item));
  };
  const row = (classes, split = -1) => (parent) => {
    const node = made("tr", parent);
    classes.forEach((className, i) => made(i ? "td" : "th", node, className));
    node.firstElementChild.scope = "row";
    if (split >= 0) ["span", "small"].forEach((name) => made(name, node.children[split]));
    return node;
  };
  const show = (id, wanted) => {
    at(id).hidden = !wanted;
  };
  const minute = (when) => when.slice(0, 19).replace("T", " ");

  const facts = (items) =>
    fillAll(
      at("facts"),
      items,
      (parent) => {
        const box = made("div", parent);
        made("dt", box);
        const value = made("dd", box);
        made("span", value);
        made("small", value);
        return box;
      },
      (box, fact) => {
        const [value, note] = box.lastElementChild.children;
        write(box.firstElementChild, fact.name);
        if (fact.since) clock(value, fact.since, "", " ago");
        else {
          delete value.dataset.since;
          write(value, fact.value);
        }
        write(note, fact.note);
      },
    );

  const clients = (items) => {
    show("clients", items.length);
    const count = {};
    items.forEach((one) => { count[one.standing] = (count[one.standing] || 0) + 1; });
    const said = Object.entries(count).map(([standing, n]) => `${n} ${standing}`);
    write(at("tally"), `${items.length} client${items.length === 1 ? "" : "s"}: ${said.join(", ")}.`);
    const sorted = items.map((one, i) => [one, i]);
    sorted.sort(([a, i], [b, j]) => ORDER[a.tone] - ORDER[b.tone] || i - j);
    fillAll(at("rows"), sorted.map(([one]) => one), row(["", "text", "number", "number"], 1), (tr, one) => {
      if (tr.className !== one.tone) tr.className = one.tone;
      const [name, cell, rounds, bytes] = tr.children;
      const [state, why] = cell.children;
      write(name, one.name);
      const waits = one.tone === "waiting" && one.since;
      if (waits) clock(state, one.since, `${one.standing} `, "");
      else {
        delete state.dataset.since;
        write(state, one.standing);
      }
      write(rounds, one.rounds.toLocaleString("en"));
      write(bytes, one.bytes);
      write(why, one.why);
    });
  };

  const totals = (items) => {
    show("totals", items.length);
    const classes = ["", "number", "number", "", "text", "text", "", "when", "hash"];
    fillAll(at("sums"), items, row(classes), (tr, one) => {
      const refused = one.refusals ? ` (and ${one.refusals} refused)` : "";
      const cells = [one.study, `${one.replies}${refused}`, one.bytes, one.protection, one.content,
        one.approval, one.to, minute(one.last), one.hash || "-"];
      cells.forEach((text, i) => write(tr.children[i], text));
      tr.lastElementChild.title = one.hash;
    });
  };

  const messages = (items, older) => {
    show("messages", items.length);
    const more = older ? ` ${older} older ones are in the log.` : "";
    write(at("older"), `The log of disclosures of this client: the newest ${items.length}.${more}`);
    const classes = ["when", "", "text", "", "number", "", "", "hash"];
    fillAll(at("log"), items, row(classes), (tr, one) => {
      tr.className = one.refused ? "alarm" : "";
      const cells = [minute(one.when), one.what, one.content, one.protection, one.bytes, one.study,
        one.to, one.sha256];
      cells.forEach((text, i) => write(tr.children[i], text));
      tr.lastElementChild.title = one.sha256;
    });
  };

  const drawn = (svg, name, attributes, className = "", text = "") => {
    const node = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    if (className) node.setAttribute("class", className);
    if (text) node.textContent = text;
    svg.append(node);
    return node;
  };

  const WIDE = 440, HIGH = 330, EDGE = 28;
  const map = (trail, ids, axes) => {
    const svg = at("map");
    svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
    svg.replaceChildren();
    const points = trail.flat();
    const range = (i) => {
      const values = points.map((point) => point[i] || 0);
      return [Math.min(...values), Math.max(...values)];
    };
    const [[left, right], [low, high]] = [range(0), range(1)];
    const scale = Math.min((WIDE - 2 * EDGE) / (right - left || 1), (HIGH - 2 * EDGE) / (high - low || 1));
    const x = (point) => WIDE / 2 + (point[0] - (left + right) / 2) * scale;
    const y = (point) => HIGH / 2 - ((point[1] || 0) - (low + high) / 2) * scale;
    const last = trail[trail.length - 1];
    last.forEach((end, cluster) => {
      const own = `own-${(ids.length ? ids[cluster] : cluster) % COLOURS}`;
      const way = trail.map((places) => places[cluster]).filter(Boolean);
      const line = way.map((point) => `${x(point).toFixed(1)},${y(point).toFixed(1)}`).join(" ");
      drawn(svg, "polyline", { points: line }, `track-of ${own}`);
    });
    last.forEach((end, cluster) => {
      const id = ids.length ? ids[cluster] : cluster;
      const own = `own-${id % COLOURS}`;
      drawn(svg, "circle", { cx: x(end), cy: y(end), r: 10 }, own);
      drawn(svg, "text", { x: x(end), y: y(end) + 4 }, `number-of ${own}`, String(id));
    });
    const kind = ids.length ? "The centres of the clusters" : "The paths of the centres; clusters get their final numbers at the end";
    write(at("axes"), `${kind}. Across: ${axes[0]}. Up: ${axes[1]}.`);
  };

  const shift = (values) => {
    const svg = at("shift");
    svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
    svg.replaceChildren();
    const known = values.filter(([, size]) => size > 0);
    if (!known.length) return;
    const logs = known.map(([, size]) => Math.log10(size));
    const low = Math.floor(Math.min(...logs)), high = Math.max(Math.ceil(Math.max(...logs)), low + 1);
    const first = known[0][0], last = Math.max(known[known.length - 1][0], first + 1);
    const x = (round) => 48 + ((round - first) / (last - first)) * (WIDE - 68);
    const y = (log) => HIGH - 30 - ((log - low) / (high - low)) * (HIGH - 50);
    const step = Math.ceil((high - low) / 6);
    for (let power = low; power <= high; power += step) {
      drawn(svg, "line", { x1: 48, x2: WIDE - 20, y1: y(power), y2: y(power) }, "grid");
      drawn(svg, "text", { x: 8, y: y(power) + 4 }, "", Math.abs(power) < 4 ? String(Number(`1e${power}`)) : `1e${power}`);
    }
    drawn(svg, "text", { x: 48, y: HIGH - 10 }, "", `round ${first + 1}`);
    drawn(svg, "text", { x: WIDE - 70, y: HIGH - 10 }, "", `round ${last + 1}`);
    const line = known.map(([round], i) => `${x(round).toFixed(1)},${y(logs[i]).toFixed(1)}`);
    drawn(svg, "polyline", { points: line.join(" ") }, "line");
  };

  const paragraphs = (id, texts) =>
    fillAll(at(id), texts, (parent) => made("p", parent), (node, text) => write(node, text));

  const render = (view) => {
    offset = Date.parse(view.now) - Date.now();
    const isClient = view.kind === "client";
    document.title = `${view.headline.text.slice(0, 60)} · ${view.title}`;
    write(at("over"), view.over);
    write(at("title"), view.title);
    const waits = view.headline.tone === "waiting";
    const more = view.headline.more ? `; ${view.headline.more}.` : ".";
    const isOver = /[.!?]$/.test(view.headline.text);
    const goesOn = waits && view.headline.since && !isOver;
    write(at("said"), view.headline.text + (isOver || goesOn ? "" : more));
    at("headline").className = `state ${view.headline.tone}`;
    clock(at("ago"), view.headline.since, waits ? "for " : "", goesOn ? more : waits ? "" : " ago");
    facts(view.facts);
    clients(view.clients);
    totals(view.totals);
    messages(view.messages, view.more_messages);
    show("privacy", view.privacy.length);
    write(at("privacy-title"), isClient ? "What this client allows" : "Privacy");
    paragraphs("guarantee", view.privacy);
    show("warnings", view.warnings.length);
    fillAll(
      at("warned"),
      view.warnings,
      (parent) => {
        const line = made("li", parent);
        made("time", line);
        made("span", line);
        return line;
      },
      (line, [when, what]) => {
        write(line.firstElementChild, minute(when));
        write(line.lastElementChild, what);
      },
    );
    show("places", view.trail.length || view.shifts.length);
    if (view.trail.length) map(view.trail, view.ids, view.axes);
    at("map").parentElement.hidden = !view.trail.length;
    at("shift").parentElement.hidden = view.shifts.length < 2;
    if (view.shifts.length > 1) shift(view.shifts);
    clocks();
    document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
  };

  const stream = new EventSource("events");
  stream.addEventListener("view", (event) => {
    show("lost", false);
    render(JSON.parse(event.data));
  });
  stream.addEventListener("beat", () => show("lost", false));
  stream.addEventListener("error", () => show("lost", true));
  setInterval(clocks, 1000);
})();
