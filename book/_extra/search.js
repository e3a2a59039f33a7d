// Ranks the book's sections for a query, BM25 with titles and keywords counting more, and the reference less.
"use strict";

const GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon phi chi psi omega".split(" ");
const named = (letter) => ` ${GREEK[letter.charCodeAt(0) - 0x3b1]} `;
const fold = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "").replace(/[\u03b1-\u03c9]/g, named);
// Pages that list what others explain.
const LISTS = { notation: 0.6, coverage: 0.4, verdicts: 0.6, bibliography: 0.4 };
const split = (text) => fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
const common = new Set(split("a an and are as at be by can do does for from how i in is it of on or that the this to what when where which who why with"));
// Singular and plural are one word, so are place, placed and placing.
const stem = (word) => {
  const one = word.length > 3 ? word.replace(/(?<!s)s$/, "").replace(/ie$/, "y") : word;
  return one.length > 4 ? one.replace(/(?<=\w{3})(ing|ed|e)$/, "") : one;
};

function prepare(entries) {
  for (const entry of entries) {
    entry.counts = new Map();
    const add = (text, weight) => split(text).map(stem).forEach((w) => entry.counts.set(w, (entry.counts.get(w) ?? 0) + weight));
    add(entry.text, 1);
    add(entry.title, 4);
    add(entry.name, 2);
    add(entry.words ?? "", 12);
    entry.length = entry.text.length / 6;
    entry.keys = new Set(split(entry.words ?? "").map(stem));
    entry.order = split(entry.text).filter((word) => !common.has(word)).map(stem);
    entry.called = split(entry.title).filter((word) => !common.has(word)).map(stem).join();
  }
  return entries;
}

// The pages that answer a query, best first, each with its best sections.
function find(query, entries) {
  const asked = split(query);
  const telling = asked.filter((word) => !common.has(word));
  const words = (telling.length ? telling : asked).map(stem);
  const mean = entries.reduce((sum, entry) => sum + entry.length, 0) / entries.length;
  const count = (entry, word) => {
    let sum = entry.counts.get(word) ?? 0;
    if (/^\p{L}{3,}$/u.test(word)) for (const [other, n] of entry.counts) if (other !== word && other.startsWith(word)) sum += n / 2;
    return sum;
  };
  const counts = words.map((word) => entries.map((entry) => count(entry, word)));
  const rare = counts.map((row) => Math.log(1 + entries.length / (1 + row.filter(Boolean).length)));
  const pages = new Map();
  entries.forEach((entry, i) => {
    let score = 0, met = 0;
    words.forEach((_, j) => {
      const n = counts[j][i];
      met += n > 0;
      score += entry.keys.has(words[j]) * 2 * rare[j];
      score += (rare[j] * n * 2.2) / (n + 1.2 * (0.5 + (0.5 * entry.length) / mean));
    });
    // What is called by the words asked for, or has them side by side, is about them.
    if (entry.called === words.join()) score *= 3;
    const pairs = words.slice(1).filter((word, j) => entry.order.some((one, at) => one === words[j] && entry.order[at + 1] === word));
    score *= 1 + pairs.length / words.length;
    score *= (met / words.length) ** 2 * (LISTS[entry.page] ?? (entry.page.startsWith("api") ? 0.3 : 1));
    if (!score) return;
    if (!pages.has(entry.page)) pages.set(entry.page, []);
    pages.get(entry.page).push({ ...entry, score });
  });
  for (const sections of pages.values()) sections.sort((a, b) => b.score - a.score);
  // The best section, and a little for each further one: a page about the word has many.
  const worth = (sections) => sections.reduce((sum, section, i) => sum + section.score / (1 + 3 * i), 0);
  return [...pages.values()].sort((a, b) => worth(b) - worth(a)).map((sections) => sections.slice(0, 3));
}

// About 200 letters around the place where most of the words stand, the words marked.
function snippet(text, query) {
  const words = split(query).filter((word) => !common.has(word)).map(stem);
  const places = [...text.matchAll(/[\p{L}\p{N}]+/gu)].filter(([word]) => words.some((w) => stem(fold(word).trim()).startsWith(w)));
  const near = (place) => places.filter((other) => other.index >= place.index && other.index < place.index + 160).length;
  const best = places.reduce((a, b) => (a && near(a) >= near(b) ? a : b), undefined);
  let start = Math.max(0, (best?.index ?? 0) - 60);
  if (start) start = text.indexOf(" ", start) + 1;
  let end = Math.min(text.length, start + 220);
  if (end < text.length) end = text.lastIndexOf(" ", end);
  const made = document.createElement("p");
  made.append(start ? "… " : "");
  let at = start;
  for (const { 0: word, index } of places)
    if (index >= at && index + word.length <= end) {
      made.append(text.slice(at, index), Object.assign(document.createElement("strong"), { textContent: word }));
      at = index + word.length;
    }
  made.append(text.slice(at, end), end < text.length ? " …" : "");
  return made;
}

function show() {
  const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
  const box = document.getElementById("search-results");
  document.querySelectorAll("input[name=q]").forEach((input) => (input.value = query));
  if (!query) return;
  const found = find(query, prepare(window.entries));
  const list = document.createElement("ol");
  for (const sections of found.slice(0, 20)) {
    const item = list.appendChild(document.createElement("li"));
    sections.forEach((section, i) => {
      const link = document.createElement("a");
      link.href = `${section.page}.html${section.id && "#" + section.id}`;
      link.textContent = section.id && !i ? `${section.name}: ${section.title}` : section.title;
      item.append(i ? " · " : "", link);
      // A section may be no more than its heading.
      if (!i) item.append(snippet((sections.find(({ text }) => text) ?? section).text, query));
    });
  }
  const said = found.length === 1 ? "One page" : `${found.length || "No"} pages`;
  box.append(Object.assign(document.createElement("p"), { textContent: `${said} for “${query}”.`, role: "status" }), list);
}

show();
