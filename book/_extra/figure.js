// One curve and six units of as many parameters: their networks, from stored weights, and their errors.
"use strict";
const find = (id) => document.getElementById(id);
const GATES = {
  relu: ["ReLU", (z) => Math.max(z, 0)],
  silu: ["SiLU", (z) => z / (1 + Math.exp(-z))],
};
// What a neuron hands on: the column of its panel, its colour.
const UNITS = {
  "mlp:relu": ["alone", "ReLU"],
  "pair:relu": ["second", "ReLU, its square"],
  "glu:relu": ["factor", "ReLU × line: GLU"],
  "mlp:silu": ["alone", "SiLU"],
  "pair:silu": ["second", "SiLU, z SiLU"],
  "swiglu:silu": ["factor", "SiLU × line: SwiGLU"],
};
const SHORT = ["ReLU", "ReLU, square", "GLU", "SiLU", "SiLU, z SiLU", "SwiGLU"];
const KEYS = Object.keys(UNITS);
const HOW = {
  best: "Best weights: free knots for the ReLU’s units, twelve runs of variable projection for SiLU’s; near 10⁻⁸ arithmetic ends, not the network.",
  adamw: "AdamW: PyTorch’s start, no weight decay, batches of 64 of 1,000 points, 10,000 steps, the best learning rate; median and range of ten seeds. "
    + "Faint: the best weights.",
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let way = "best";
let k = 0; // the size, from 0 to 7
let curve = Object.keys(CURVES)[0];

const stored = (key, by = way) => CURVES[curve][by][key]; // a size each: [parameters, error, weights, least, greatest]

// The forward pass of xsquared.units: weights in the order of its module, G, g, then U, u where the unit multiplies, D, d.
function network(key, weights) {
  const [unit, gate] = key.split(":");
  const parts = { mlp: 3, pair: 4 }[unit] ?? 5;
  const n = (weights.length - 1) / parts;
  const value = (x) => {
    let sum = weights.at(-1);
    for (let i = 0; i < n; i++) {
      const z = weights[i] * x + weights[n + i];
      const number = GATES[gate][1](z);
      if (parts === 5) sum += weights[4 * n + i] * number * (weights[2 * n + i] * x + weights[3 * n + i]);
      else sum += weights[2 * n + i] * number;
      if (parts === 4) sum += weights[3 * n + i] * z * number;
    }
    return sum;
  };
  return { value };
}
window.figure = { network }; // for the test

// Two digits of an error, and of a ratio in words.
const raised = (digits) => [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? "⁻").join("");
const plain = (error) => (error < 1e-3 ? error.toExponential(1).replace(/e(.*)/, (_, e) => `·10${raised(e)}`) : error.toPrecision(2));
const two = (value) => Number(value.toPrecision(2)).toLocaleString("en");
const times = (ratio) => `${ratio < 1e6 ? two(ratio) : `${two(ratio / 1e6)} million`} times`;
const against = (ratio) => {
  if (Math.abs(Math.log(ratio)) < 0.1) return "about the same";
  return ratio < 1 ? `${times(1 / ratio)} larger` : `${times(ratio)} smaller`;
};

function draw(kind, attributes, parent, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}
const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");

function makePanels() {
  for (const key of KEYS) {
    const [column, title] = UNITS[key];
    const figure = document.createElement("figure");
    figure.style.setProperty("--own", `var(--${column})`);
    figure.innerHTML = `<svg role="img" height="126"></svg><figcaption><b>${title}</b><br><span></span></figcaption>`;
    find("panels").append(figure);
  }
}

function showPanels() {
  const { values } = CURVES[curve];
  const xs = values.map((_, i) => (2 * i) / (values.length - 1) - 1);
  const low = Math.min(...values);
  const high = Math.max(...values);
  [...find("panels").children].forEach((figure, j) => {
    const board = figure.firstChild;
    const wide = board.clientWidth || 110;
    const [, error, weights] = stored(KEYS[j])[k];
    const { value } = network(KEYS[j], weights.split(" ").map(Number));
    const made = xs.map(value);
    const misses = made.map((y, i) => y - values[i]);
    const most = Math.max(...misses.map(Math.abs));
    const across = (x) => 3 + ((x + 1) / 2) * (wide - 6);
    const up = (y) => 6 + ((high - y) / (high - low)) * 76;
    const below = (y) => 108 - (y / most) * 14;
    const line = (ys, to) => path(xs.map((x, i) => [across(x), to(ys[i])]));
    const style = KEYS[j].endsWith("silu") ? " silu" : "";
    board.setAttribute("viewBox", `0 0 ${wide} 126`);
    board.replaceChildren();
    draw("path", { class: "grid", d: path([[3, 108], [wide - 3, 108]]) }, board);
    draw("path", { class: "net", d: line(made, up) }, board);
    draw("path", { class: "curve", d: line(values, up) }, board);
    draw("path", { class: `miss${style}`, d: line(misses, below) }, board);
    board.setAttribute("aria-label", `${UNITS[KEYS[j]][1]}: error ${plain(error)}`);
    figure.querySelector("span").textContent = `error ${plain(error)}`;
  });
}

function showErrors(rising) {
  const board = find("errors");
  const log = Math.log10;
  const every = KEYS.flatMap((key) => ["best", "adamw"].flatMap((by) => stored(key, by).map(([, error]) => log(error))));
  const low = Math.floor(Math.min(...every));
  const top = Math.ceil(Math.max(...every));
  const wide = Math.max((board.clientWidth || 340) - 132, 120);
  const tall = board.clientHeight - 50;
  const first = log(16) - 0.03;
  const last = log(121) + 0.03;
  const at = ([size, error]) => [((log(size) - first) / (last - first)) * wide, ((top - log(error)) / (top - low)) * tall];
  board.setAttribute("viewBox", `-44 -10 ${wide + 132} ${tall + 50}`);
  board.replaceChildren();
  for (let e = low; e <= top; e += top - low < 5 ? 1 : 2) {
    const y = at([16, 10 ** e])[1];
    draw("path", { class: "grid", d: path([[0, y], [wide, y]]) }, board);
    draw("text", { x: -6, y: y + 4, "text-anchor": "end" }, board, `10${raised(`${e}`)}`);
  }
  for (const size of [16, 31, 61, 121]) draw("text", { x: at([size, 1])[0], y: tall + 18, "text-anchor": "middle" }, board, size);
  draw("text", { x: wide / 2, y: tall + 36, "text-anchor": "middle" }, board, "parameters");
  draw("text", { x: 4, y: -1 }, board, "error");
  const now = at([16 + 15 * k, 1])[0];
  draw("path", { class: "grid", d: path([[now, 0], [now, tall]]) }, board);
  const inside = draw("svg", { width: wide, height: tall }, board);
  const ends = KEYS.map((key) => [key, at(stored(key)[7])[1] + 4]).sort(([, a], [, b]) => a - b);
  for (let round = 0; round < 60; round++) { // names at the lines' ends keep apart
    for (let i = 1; i < ends.length; i++) {
      const push = Math.max(14 - ends[i][1] + ends[i - 1][1], 0) / 2;
      ends[i - 1][1] -= push;
      ends[i][1] = Math.min(ends[i][1] + push, tall);
    }
  }
  for (const [key, y] of ends) {
    const own = { style: `--own: var(--${UNITS[key][0]})` };
    const group = draw("g", own, inside);
    const style = key.endsWith("silu") ? " silu" : "";
    const points = stored(key).map(at);
    const best = stored(key, "best").map(at);
    if (way === "adamw") {
      const least = stored(key).map(([size, , , error]) => at([size, error]));
      const greatest = stored(key).map(([size, , , , error]) => at([size, error]));
      draw("path", { class: "band", d: path([...least, ...greatest.reverse()]) }, group);
      draw("path", { class: `line faint${style}`, d: path(best) }, group);
    }
    const line = draw("path", { class: `line${style}`, d: path(points) }, group);
    const dot = draw("circle", { cx: points[k][0], cy: points[k][1], r: 4.5 }, group);
    draw("text", { ...own, class: "name", x: wide + 6, y }, board, SHORT[KEYS.indexOf(key)]);
    if (!rising) continue;
    line.animate({ d: [best, points].map((way) => `path("${path(way)}")`) }, 900);
    dot.animate({ cy: [best, points].map((way) => `${way[k][1]}px`) }, 900);
  }
  const errors = KEYS.map((key, j) => `${SHORT[j]} ${plain(stored(key)[k][1])}`);
  board.setAttribute("aria-label", `Errors against parameters, both logarithmic; at ${16 + 15 * k}: ${errors.join(", ")}`);
}

function show(rising) {
  const size = 16 + 15 * k;
  const [relu, square, glu, silu] = KEYS.map((key) => stored(key)[k][1]);
  find("size").setAttribute("aria-valuetext", `${size} parameters`);
  document.querySelector("output").textContent = size;
  find("said").textContent = `${size} parameters, ${way === "best" ? "the best weights" : "trained by AdamW"}. The ReLU’s error is ${against(relu / square)} `
    + `with its square beside it, ${against(relu / glu)} with a factor. SiLU alone: ${against(relu / silu)}.`;
  find("how").textContent = HOW[way];
  showPanels();
  showErrors(rising);
}

// It moves by itself until a reader touches it: through the sizes, then to AdamW. Not for who wants no motion.
let timer = 0;
let rest = 0;
function play(going) {
  clearInterval(timer);
  timer = going ? setInterval(step, 1100) : 0;
  find("play").textContent = going ? "Pause" : "Play";
  find("said").setAttribute("aria-live", going ? "off" : "polite");
}
function step() {
  if (k < 7) return move(k + 1);
  if (way === "adamw") return play(false);
  if (++rest < 2) return;
  way = document.forms[0].elements.way.value = "adamw";
  show(true);
}
function move(to) {
  find("size").value = (k = to) + 1;
  rest = 0;
  show();
}

makePanels();
find("curve").replaceChildren(...Object.entries(CURVES).map(([key, { title }]) => new Option(title, key)));
document.forms[0].addEventListener("input", ({ target }) => {
  if (target.name !== "way") play(false);
  way = document.forms[0].elements.way.value;
  curve = find("curve").value;
  move(find("size").valueAsNumber - 1);
});
find("play").addEventListener("click", () => {
  if (!timer && k === 7) {
    way = document.forms[0].elements.way.value = "best";
    move(0);
  }
  play(!timer);
});
addEventListener("pointerdown", ({ target }) => {
  if (!target.closest("button, fieldset")) play(false);
});
new ResizeObserver(() => show()).observe(find("views"));
new ResizeObserver(() => { // where the page around it may be asked
  if (frameElement) frameElement.style.height = `${document.body.scrollHeight + 4}px`;
}).observe(document.body);
try { // the theme of the page around it
  const page = parent.document.documentElement;
  const follow = () => (document.documentElement.dataset.theme = page.dataset.theme ?? "");
  if (parent !== window) new MutationObserver(follow).observe(page, { attributeFilter: ["data-theme"] }, follow());
} catch { /* another site's page: the reader's own choice */ }
if (calm.matches) move(4);
new IntersectionObserver(([seen], watch) => { // half of it is seen
  if (seen.intersectionRatio < 0.5) return;
  watch.disconnect();
  play(!calm.matches);
}, { threshold: 0.5 }).observe(find("views"));
