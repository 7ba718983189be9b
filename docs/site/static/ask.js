"use strict";
// Finds the sections that answer a question. All data are in search-data.js, so it works from files.
(() => {
  const STOP = new Set(("a an and are as at be been but by can could did do does for from get had has have how i if in into is it "
    + "its many me much my no not of on one or our should so some such than that the their them then there these they this to up us use "
    + "want was we were what when where which who whom why will with would you your fedclust "
    + "need needs happen happens know make makes somebody someone something thing things very too really please off mean until across several").split(" "));
  // Words for the same thing, in questions and pages alike.
  const ONE = {
    hospital: "client", site: "client", clinic: "client", bank: "client", company: "client", participant: "client", party: "client", silo: "client",
    patient: "row", person: "row", people: "row", customer: "row", feature: "column", variable: "column",
    computer: "machine", pc: "machine", average: "mean",
  };
  // Words that newcomers use, and the words of these pages.
  const SAME = {
    gap: ["missing"], nan: ["missing"], null: ["missing"], impute: ["missing", "fill"], imputation: ["missing"],
    gdpr: ["dpo", "privacy"],
    erase: ["forget"], delete: ["forget"], unlearn: ["forget"], removal: ["forget"],
    cuda: ["gpu"], graphics: ["gpu"], network: ["firewall"], port: ["firewall"], vpn: ["firewall"],
    elbow: ["k"], best: ["choose"], pick: ["choose"], publication: ["cite"], paper: ["cite"], publish: ["cite"], bibtex: ["cite"],
    secure: ["tier"], anonymous: ["tier", "privacy"], epsilon: ["tier"], encrypt: ["secure", "masks"],
    predict: ["label", "new"], stable: ["numbers", "match"], poor: ["weak"], bad: ["weak"], wait: ["watch"], waiting: ["watch"], reproduce: ["seed"], reproducible: ["seed"],
    categorical: ["category"], deploy: ["deployment", "machines"], install: ["pip"], dataframe: ["pandas"],
    vertical: ["columns"], horizontal: ["rows"], log: ["disclosures"], monitor: ["watch"], dashboard: ["watch"],
    progress: ["watch"], live: ["watch"], mean: ["glossary", "words"], start: ["first"], begin: ["first"], tutorial: ["first"],
    officer: ["dpo"], protection: ["dpo"], audit: ["disclosures"], numbering: ["numbers"], visualise: ["plot"],
    hierarchical: ["hierarchy", "tree"], dendrogram: ["hierarchy", "tree"], drop: ["silence", "silent"], dropout: ["silence", "silent"], unreachable: ["silence", "silent"],
    traffic: ["bytes"], bandwidth: ["bytes"], sent: ["bytes"], iid: ["uneven"], heterogeneous: ["uneven"], imbalanced: ["uneven"], unequal: ["uneven"],
    configuration: ["toml", "study"], config: ["toml", "study"], memory: ["large"], heat: ["profile"], heatmap: ["profile", "plot"],
    malicious: ["trust", "attack"], honest: ["trust"], attacker: ["attack"], cheat: ["lie"], minimum: ["fewest", "quorum"],
    remove: ["revoke", "leaves"], exclude: ["revoke", "leaves"], withdraw: ["revoke", "leaves"], quit: ["revoke", "leaves"],
    cloud: ["server"], internet: ["firewall", "connections"], offline: ["silence", "silent"], connect: ["connections"], clinician: ["report"], physician: ["report"], doctor: ["report"],
    explain: ["report"], interpret: ["report"], understand: ["report"], presentation: ["report", "plot"], slide: ["plot"], chart: ["plot"], graph: ["plot"],
    real: ["evidence", "weak"], meaningful: ["evidence", "weak"], significant: ["evidence", "weak"], valid: ["evidence", "weak"], reliable: ["evidence", "weak"],
    centralized: ["pooled"], centralised: ["pooled"], central: ["pooled"], equal: ["same"], equals: ["same"], equivalent: ["same"], identical: ["same"], verify: ["same"],
    enough: ["fewest", "least"], few: ["fewest"], crash: ["resume"], crashed: ["resume"], interrupted: ["resume"], broken: ["resume"], killed: ["resume"],
    slow: ["silent"], hyperparameter: ["settings"], parameter: ["settings"], far: ["distance"], apart: ["distance"], distance: ["far"], normalize: ["scale"], normalise: ["scale"], standardize: ["scale"], standardise: ["scale"], unit: ["scale"], outlier: ["tails"], weight: ["scale"],
    percentage: ["membership"], probability: ["membership"], soft: ["fuzzy"], database: ["format"], sql: ["format"], write: ["add"], develop: ["add"], extend: ["add"], train: ["run"], training: ["run"], finish: ["left"], finished: ["left"], remaining: ["left"], program: ["export"], software: ["export"], tool: ["export"], application: ["export"], language: ["export"], rename: ["name"], named: ["name"],
    legal: ["dpo", "privacy"], lawyer: ["dpo", "privacy"], law: ["dpo", "privacy"], hipaa: ["dpo", "privacy"], compliance: ["dpo", "privacy"], reconstruct: ["attack", "recover"], leak: ["attack", "privacy"], steal: ["attack", "lost", "revoke"], stolen: ["lost", "revoke"], level: ["tier"], package: ["pip"],
    agree: ["approve", "consent"], permission: ["approve", "consent"], accept: ["approve", "consent"], contract: ["approve", "consent"],
    returned: ["labels", "beside"], draw: ["plot"], picture: ["plot"], plot: ["picture"], figure: ["plot"], compare: ["match"], difference: ["compare"], time: ["minutes", "seconds"], long: ["minutes", "seconds"], speed: ["fast", "benchmarks"],
    year: ["later"], excel: ["files"], csv: ["files"], size: ["memory"], large: ["memory"], big: ["large"],
  };
  const KIND = { "how-to": 1.7, page: 1.0, front: 0.8, example: 0.9, api: 0.75, record: 0.45, menu: 0.3 };
  const WEIGHT = { title: 3, heading: 3, text: 1 };
  const K1 = 1.2, B = 0.4;
  const SYNONYM = 0.7, RAREST = 5; // what a word of the same meaning counts; no word counts more than this
  const LIKE = 1.0, SMALL = 0.15; // a heading that reads like the question; a word such as "how" in it
  const COVER = 0.3, OTHERS = 0.3; // shares of: all words are there; the next sections of the page

  const stem = (word) => {
    const bare = word.replace(/(ies)$/, "y").replace(/(sses)$/, "ss").replace(/([^s])s$/, "$1");
    if (ONE[bare]) return ONE[bare];
    const root = bare.length > 5 ? bare.replace(/(ing|ed|ation|ment|ly)$/, "") : bare;
    const single = root === bare ? root : root.replace(/([bdfgklmnprt])\1$/, "$1"); // logged, mapping
    return single.length > 4 ? single.replace(/e$/, "") : single;
  };
  // Names such as client.toml or n_clusters are words, and so are their parts.
  const words = (text) => (text.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}+]*(?:[._][\p{L}\p{N}]+)*/gu) || [])
    .flatMap((word) => (/[._]/.test(word) ? [word, ...word.split(/[._]/)] : [word]));
  const terms = (text) => words(text).filter((word) => !STOP.has(word)).map(stem);

  const build = (rows) => {
    const places = new Map(); // stem -> [[document, weight]]
    const lengths = [];
    rows.forEach(([, title, heading, , text], number) => {
      const count = new Map();
      let length = 0;
      const add = (part, weight) => {
        terms(part).forEach((term) => {
          count.set(term, (count.get(term) || 0) + weight);
          length += 1;
        });
      };
      add(title, WEIGHT.title);
      if (heading !== title) add(heading, WEIGHT.heading);
      add(text, WEIGHT.text);
      lengths.push(length);
      count.forEach((weight, term) => {
        if (!places.has(term)) places.set(term, []);
        places.get(term).push([number, weight]);
      });
    });
    const mean = lengths.reduce((a, b) => a + b, 0) / Math.max(1, lengths.length);
    const heads = rows.map(([, , heading]) => new Set(words(heading).map(stem)));
    const common = new Map(); // stem -> headings with it
    heads.forEach((head) => head.forEach((term) => common.set(term, (common.get(term) || 0) + 1)));
    return { rows, places, lengths, mean, heads, common };
  };

  // How much a heading reads like the question, from 0 to 1.
  const likeness = (index, asked, head) => {
    const weigh = (term) => (STOP.has(term) ? SMALL : 1) * Math.min(rarity(index, index.common.get(term) || 0), RAREST);
    const worth = (terms) => terms.reduce((sum, term) => sum + weigh(term), 0);
    const both = worth([...head].filter((term) => asked.has(term)));
    return both ? both / Math.sqrt(worth([...head]) * worth([...asked])) : 0;
  };

  // Each asked word with the words that mean the same: stem -> how much it counts.
  const wanted = (question) => {
    const concepts = new Map();
    words(question).filter((word) => !STOP.has(word) || SAME[word]).forEach((word) => {
      const near = SAME[word] || SAME[word.replace(/s$/, "")] || [];
      const concept = concepts.get(stem(word)) || new Map();
      near.forEach((other) => concept.set(stem(other), SYNONYM));
      if (!STOP.has(word)) concept.set(stem(word), 1);
      concepts.set(stem(word), concept);
    });
    return concepts;
  };
  const stems = (question) => new Set([...wanted(question).values()].flatMap((concept) => [...concept.keys()]));
  const rarity = (index, n) => Math.log(1 + (index.rows.length - n + 0.5) / (n + 0.5));

  // The best section of each page, best first. What has all that was asked for counts more, and so does a page
  // with several sections on it.
  const find = (index, question, most = 15) => {
    const sections = new Map(); // section -> [score, share of the question that it has]
    const pages = new Map(); // page -> share of the question that it has
    let asked = 0;
    wanted(question).forEach((concept) => {
      const gains = new Map(), shares = new Map(), inPages = new Map();
      let rarest = 0;
      concept.forEach((share, term) => {
        const found = index.places.get(term) || [];
        const rare = Math.min(rarity(index, found.length), RAREST);
        if (found.length) rarest = Math.max(rarest, share * rare);
        found.forEach(([number, weight]) => {
          const norm = K1 * (1 - B + (B * index.lengths[number]) / index.mean);
          const page = index.rows[number][0];
          gains.set(number, (gains.get(number) || 0) + (share * rare * weight * (K1 + 1)) / (weight + norm));
          shares.set(number, Math.max(shares.get(number) || 0, share * rare));
          inPages.set(page, Math.max(inPages.get(page) || 0, share * rare));
        });
      });
      asked += rarest;
      gains.forEach((gain, number) => {
        const [score, part] = sections.get(number) || [0, 0];
        sections.set(number, [score + gain, part + shares.get(number)]);
      });
      inPages.forEach((part, page) => pages.set(page, (pages.get(page) || 0) + part));
    });
    const cover = (words) => 1 - COVER + (COVER * words) / Math.max(asked, 1e-9);
    const said = new Set(words(question).map(stem));
    const best = new Map(); // page -> its sections
    sections.forEach(([score, words], number) => {
      const [page, , , , , kind] = index.rows[number];
      if (!best.has(page)) best.set(page, []);
      const like = 1 + LIKE * likeness(index, said, index.heads[number]);
      best.get(page).push([number, score * KIND[kind] * cover(words) * like]);
    });
    const total = ([page, found]) => {
      found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      const next = found.slice(1, 4).reduce((sum, [, score]) => sum + score, 0);
      return [found[0][0], (found[0][1] + OTHERS * next) * cover(pages.get(page))];
    };
    const sorted = [...best.entries()].map(total).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return sorted.slice(0, most).map(([number]) => index.rows[number]);
  };

  const index = build(window.FEDCLUST_SECTIONS || []);
  window.fedclustFind = (question) => find(index, question);

  const box = document.getElementById("ask");
  const hits = document.getElementById("hits");
  if (!box || !hits) return;
  const root = document.body.dataset.root || "";

  const snippet = (parent, text, question) => {
    const all = stems(question);
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
      link.href = `${root}${page}.html${anchor ? `#${anchor}` : ""}`;
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
