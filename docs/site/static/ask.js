"use strict";
// Finds the sections that answer a question. All data are in search-data.js, so it works from files.
(() => {
  const STOP = new Set(("a an and are as at be been but by can could did do does for from get had has have how i if in into is it "
    + "its many me much my no not of on one or our should so some such than that the their them then there these they this to up us use "
    + "want was we were what when where which who whom why will with would you your fedclust "
    + "need needs happen happens know make makes somebody someone something thing things very too really please off mean until across several "
    + "possible way must may am any using used dealing handle").split(" "));
  const WEAK = new Set("federated federation federate learning train training trained model models data dataset".split(" ")); // in most questions
  const KIND = { "how-to": 1.6, page: 1.0, answer: 1.1, front: 0.8, example: 0.9, api: 0.75, record: 0.45, menu: 0.3 };
  const WEIGHT = { title: 3, heading: 3, asked: 1.5, text: 1 };
  const K1 = 4, B = 0.4, PASSAGE = 120; // of BM25; words of a passage
  const SYNONYM = 0.7, TYPO = 0.7, PART = 0.5, WEAKLY = 0.4, RAREST = 5; // what such a word counts; no word counts more than this
  const LIKE = 2.5, SMALL = 0.15; // a heading that reads like the question; a word such as "how" in it
  const NEAREST = 200; // sections whose headings are compared with the question
  const COVER = 0.2, OTHERS = 0.15; // shares of: all words are there; the next sections of the page

  // Words for the same thing: word -> word, and word -> words that it may mean.
  const same = new Map(), near = new Map();
  const singular = (word) => word.replace(/ies$/, "y").replace(/(ss|sh|ch|x)es$/, "$1").replace(word.length > 4 ? /([^su])s$/ : /([^s])s$/, "$1");
  const root = (word) => {
    const single = singular(word);
    const bare = single.length > 5 ? single.replace(/(ing|ed|ation|ment|ly)$/, "") : single;
    const plain = bare === single ? bare : bare.replace(/([bdfgklmnprt])\1$/, "$1"); // logged, mapping
    return plain.length > 4 ? plain.replace(/e$/, "") : plain;
  };
  const stem = (word) => same.get(singular(word)) || same.get(root(word)) || root(word);
  (window.FEDCLUST_WORDS || []).forEach(([from, to, alike]) => from.forEach((word) => {
    if (alike) same.set(word, root(to[0]));
    else near.set(word, [...(near.get(word) || []), ...to]);
  }));
  const others = (word) => near.get(word) || near.get(singular(word)) || near.get(root(word)) || [];
  // Names such as client.toml, n_clusters or fuzzy-c-means are words, and so are their parts.
  const split = (text) => text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}+]*(?:[._-][\p{L}\p{N}]+)*/gu) || [];
  const parts = (word) => (/[._-]/.test(word) ? word.split(/[._-]/).filter((part) => part.length > 1) : []);
  const words = (text) => split(text).flatMap((word) => [word, ...parts(word)]);
  const terms = (text) => words(text).filter((word) => !STOP.has(word)).map(stem);

  const passages = (text) => {
    const all = text.split(" ");
    const cut = [];
    for (let first = 0; first === 0 || first < all.length; first += PASSAGE) cut.push(all.slice(first, first + PASSAGE + 20).join(" "));
    return cut;
  };

  const build = (rows) => {
    const places = new Map(); // stem -> [[passage, weight]]
    const lengths = [], home = []; // of passages: words; number of the section
    rows.forEach(([, title, heading, , text, , asked], number) => {
      const frame = new Map();
      const put = (count, part, weight) => terms(part).reduce((n, term) => (count.set(term, (count.get(term) || 0) + weight), n + 1), 0);
      let length = put(frame, title, WEIGHT.title) + (heading === title ? 0 : put(frame, heading, WEIGHT.heading));
      put(frame, asked.join(" "), WEIGHT.asked);
      passages(text).forEach((passage) => {
        const count = new Map(frame);
        lengths.push(length + put(count, passage, WEIGHT.text));
        count.forEach((weight, term) => {
          if (!places.has(term)) places.set(term, []);
          places.get(term).push([home.length, weight]);
        });
        home.push(number);
      });
    });
    const mean = lengths.reduce((a, b) => a + b, 0) / Math.max(1, lengths.length);
    const heads = rows.map(([, , heading, , , , asked]) => [heading, ...asked, ...asked.flatMap((one) => one.split(", "))]
      .map((one) => new Set(words(one).map(stem))));
    const common = new Map(); // stem -> sections with it in a heading or a question
    heads.forEach((all) => new Set(all.flatMap((head) => [...head])).forEach((term) => common.set(term, (common.get(term) || 0) + 1)));
    return { rows, places, lengths, home, mean, heads, common };
  };
  const rarity = (all, n) => Math.min(Math.log(1 + (all - n + 0.5) / (n + 0.5)), RAREST);

  // How much a heading reads like the question, from 0 to 1. A word of the same meaning counts less.
  const likeness = (index, concepts, head) => {
    const weigh = (term) => (STOP.has(term) ? SMALL : 1) * rarity(index.rows.length, index.common.get(term) || 0);
    let both = 0, asked = 0;
    concepts.forEach((concept, said) => {
      const found = [...concept].filter(([term]) => head.has(term)).map(([term, share]) => share * weigh(term));
      asked += weigh(said);
      both += Math.min(weigh(said), Math.max(0, ...found));
    });
    const worth = [...head].reduce((sum, term) => sum + weigh(term), 0);
    return both ? both / Math.sqrt(worth * asked) : 0;
  };

  // Number of letters to change, or two: more are not looked at.
  const edits = (a, b) => {
    if (Math.abs(a.length - b.length) > 1) return 2;
    let first = 0, last = 0;
    while (first < a.length && a[first] === b[first]) first += 1;
    while (last < Math.min(a.length, b.length) - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last += 1;
    const rest = [a.slice(first, a.length - last), b.slice(first, b.length - last)];
    if (rest[0].length <= 1 && rest[1].length <= 1) return 1;
    return rest[0].length === 2 && rest[0] === [...rest[1]].reverse().join("") ? 1 : 2;
  };
  // A word that no page has: words that begin with it, or differ by a letter.
  const guesses = (index, term) => [...index.places.keys()]
    .filter((known) => (known.startsWith(term) && term.length > 3) || (term.length > 4 && known.length > 3 && edits(term, known) < 2))
    .sort((a, b) => index.places.get(b).length - index.places.get(a).length).slice(0, 3);

  // Each asked word with the words that mean the same: stem -> how much it counts.
  const wanted = (index, question) => {
    const concepts = new Map();
    split(question).forEach((word) => {
      const said = stem(word);
      const concept = concepts.get(said) || new Map();
      const add = (term, share) => concept.set(term, Math.max(share, concept.get(term) || 0));
      others(word).forEach((other) => add(stem(other), SYNONYM));
      parts(word).forEach((part) => add(stem(part), PART));
      if (!STOP.has(word) && !index.places.has(said)) guesses(index, said).forEach((other) => add(other, TYPO));
      add(said, 1);
      if (WEAK.has(word)) concept.forEach((share, term) => concept.set(term, share * WEAKLY));
      concepts.set(said, concept);
    });
    return concepts;
  };

  // The best section of each page, best first. What has all that was asked for counts more, and so does a page
  // with several sections on it.
  const find = (index, question, most = 15) => {
    const sections = new Map(); // section -> [score, share of the question that it has]
    const pages = new Map(); // page -> share of the question that it has
    const concepts = wanted(index, question);
    let asked = 0;
    concepts.forEach((concept, said) => {
      const gains = new Map(), inPages = new Map(); // passage -> gain and share
      let rarest = 0;
      concept.forEach((share, term) => {
        if (STOP.has(said) && term === said) return;
        const found = index.places.get(term) || [];
        const rare = rarity(index.home.length, found.length);
        if (found.length) rarest = Math.max(rarest, share * rare);
        found.forEach(([passage, weight]) => {
          const norm = K1 * (1 - B + (B * index.lengths[passage]) / index.mean);
          const [gain, part] = gains.get(passage) || [0, 0];
          gains.set(passage, [Math.max(gain, (share * rare * weight * (K1 + 1)) / (weight + norm)), Math.max(part, share * rare)]);
          const page = index.rows[index.home[passage]][0];
          inPages.set(page, Math.max(inPages.get(page) || 0, share * rare));
        });
      });
      asked += rarest;
      gains.forEach(([gain, part], passage) => {
        const [score, all] = sections.get(passage) || [0, 0];
        sections.set(passage, [score + gain, all + part]);
      });
      inPages.forEach((part, page) => pages.set(page, (pages.get(page) || 0) + part));
    });
    const cover = (part) => 1 - COVER + (COVER * part) / Math.max(asked, 1e-9);
    const best = new Map(); // section -> score of its best passage
    sections.forEach(([score, part], passage) => {
      const number = index.home[passage];
      best.set(number, Math.max(best.get(number) || 0, score * cover(part)));
    });
    const grouped = new Map(); // page -> its sections; an answer to a question stands for itself
    [...best.entries()].sort((a, b) => b[1] - a[1]).slice(0, NEAREST).forEach(([number, score]) => {
      const [page, , , anchor, , kind] = index.rows[number];
      const group = kind === "answer" ? `${page}#${anchor}` : page;
      if (!grouped.has(group)) grouped.set(group, []);
      const like = Math.max(...index.heads[number].map((head) => likeness(index, concepts, head)));
      grouped.get(group).push([number, score * KIND[kind] * (1 + LIKE * like)]);
    });
    const total = ([, found]) => {
      const page = index.rows[found[0][0]][0];
      found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      const next = found.slice(1, 4).reduce((sum, [, score]) => sum + score, 0);
      return [found[0][0], (found[0][1] + OTHERS * next) * cover(pages.get(page))];
    };
    const sorted = [...grouped.entries()].map(total).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return sorted.slice(0, most).map(([number]) => index.rows[number]);
  };

  const index = build(window.FEDCLUST_SECTIONS || []);
  window.fedclustFind = (question) => find(index, question);

  const box = document.getElementById("ask");
  const hits = document.getElementById("hits");
  if (!box || !hits) return;
  const home = document.body.dataset.root || "";

  const snippet = (parent, text, question) => {
    const all = new Set([...wanted(index, question).values()].flatMap((concept) => [...concept.keys()].filter((term) => !STOP.has(term))));
    const parts = text.split(" ");
    const found = parts.findIndex((part) => all.has(stem(part.toLowerCase().replace(/[^\p{L}\p{N}]/gu, ""))));
    const near = Math.max(0, found - 10);
    const begins = parts.slice(near, Math.max(0, found)).findLastIndex((part) => /[.?!:]$/.test(part));
    const first = near + begins + 1; // at the beginning of a sentence, if one is near
    if (first && begins < 0) parent.append("… ");
    parts.slice(first, first + 34).forEach((part) => {
      const bare = part.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
      const node = document.createElement(all.has(stem(bare)) ? "mark" : "span");
      node.textContent = part;
      parent.append(node, " ");
    });
  };
  const show = (question) => {
    hits.replaceChildren();
    const found = question.trim() ? find(index, question) : [];
    document.getElementById("found").textContent = question.trim() && !found.length ? "Nothing was found. Try fewer words." : "";
    found.forEach(([page, title, heading, anchor, text, kind]) => {
      const hit = document.createElement("li");
      const link = document.createElement("a");
      link.href = `${home}${page}.html${anchor ? `#${anchor}` : ""}`;
      link.textContent = heading === title ? title : `${title}: ${heading}`;
      const where = document.createElement("span");
      where.className = "where";
      where.textContent = { api: "reference", front: "page" }[kind] || kind;
      const about = document.createElement("p");
      snippet(about, text, question);
      hit.append(link, where, about);
      hits.append(hit);
    });
  };
  const asked = new URLSearchParams(window.location.search).get("q") || "";
  box.value = asked;
  show(asked);
  box.addEventListener("input", () => show(box.value));
  box.focus();
})();
