// The argument as one figure: a curve, MLP, GLU and SwiGLU of as many parameters, and their errors, from stored weights.
"use strict";
const find = (id) => document.getElementById(id);
const relu = (z) => Math.max(z, 0), silu = (z) => z / (1 + Math.exp(-z));
const UNITS = { mlp: ["MLP", relu], glu: ["GLU", relu], swiglu: ["SwiGLU", silu] };
const WAYS = { best: "with the best weights found", adamw: "trained by AdamW" };
const LEAST = 16, STEP = 15; // parameters at the slider's first place, and from one to the next
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// The forward pass of xsquared.units: weights in the order of its module, G, g, then U, u where the unit multiplies, D, d.
function network(unit, weights) {
  const parts = unit === "mlp" ? 3 : 5, n = (weights.length - 1) / parts;
  const part = (k) => weights.slice(k * n, (k + 1) * n);
  const [G, g, U, u, D] = parts === 3 ? [part(0), part(1), null, null, part(2)] : [0, 1, 2, 3, 4].map(part);
  const value = (x) => G.reduce((sum, slope, i) => sum + D[i] * UNITS[unit][1](slope * x + g[i]) * (U ? U[i] * x + u[i] : 1), weights.at(-1));
  const joints = unit === "swiglu" ? [] : G.map((slope, i) => -g[i] / slope).filter((x) => x > -1 && x < 1);
  return { value, joints };
}
window.figure = { network }; // for the test

// Two digits of an error, and of a ratio in words.
const power = (e) => `10${e < 0 ? "\u207b" : ""}${[...`${Math.abs(e)}`].map((digit) => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[digit]).join("")}`;
const plain = (error) => (error < 1e-3 ? error.toExponential(1).replace(/e(.*)/, (_, e) => `\u00b7${power(Number(e))}`) : error.toPrecision(2));
const two = (value) => Number(value.toPrecision(2)).toLocaleString("en");
const times = (ratio) => `${ratio < 1e6 ? two(ratio) : `${two(ratio / 1e6)} million`} times`;
const less = (ratio) => (ratio < 1 ? `${times(1 / ratio)} larger` : `${times(ratio)} smaller`);
const against = (ratio) => (Math.abs(Math.log(ratio)) < 0.05 ? "about as large" : less(ratio));

function draw(kind, attributes, parent, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}
const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");

// Empties a picture and draws its axes: a box [left, right, bottom, top], ticks with their texts, and names. Gives a point's
// pixels, and what cuts off lines that leave the box.
function axes(board, high, [a, b, low, top], across, up, [below, beside]) {
  const wide = (board.clientWidth || 340) - 74, tall = high - 52;
  const at = ([x, y]) => [((x - a) / (b - a)) * wide, ((top - y) / (top - low)) * tall];
  board.setAttribute("viewBox", `-62 -12 ${wide + 74} ${high}`);
  board.replaceChildren();
  const inside = draw("svg", { width: wide, height: tall }, board);
  for (const [y, text] of up) {
    draw("path", { class: "grid", d: path([at([a, y]), at([b, y])]) }, board);
    draw("text", { x: -6, y: at([a, y])[1] + 4, "text-anchor": "end" }, board, text);
  }
  const middle = (attributes, text) => draw("text", { ...attributes, "text-anchor": "middle" }, board, text);
  for (const [x, text] of across) middle({ x: at([x, low])[0], y: tall + 18 }, text);
  middle({ x: wide / 2, y: tall + 36 }, below);
  middle({ transform: `translate(-50,${tall / 2})rotate(-90)` }, beside);
  board.append(inside);
  return { at, inside };
}

let way = "best", k = 0, name = Object.keys(CURVES)[0];
const stored = (unit, by = way) => CURVES[name][by][unit];

function panels(wide) {
  const { values } = CURVES[name], last = values.length - 1;
  const xs = values.map((_, i) => (2 * i) / last - 1);
  const nets = Object.keys(UNITS).map((unit) => network(unit, stored(unit)[k][1].split(" ").map(Number)));
  const made = nets.map(({ value }) => xs.map(value));
  const low = Math.min(...values), high = Math.max(...values);
  const most = Math.max(...made.flatMap((ys) => ys.map((y, i) => Math.abs(y - values[i]))));
  const across = (x) => 4 + ((x + 1) / 2) * (wide - 8);
  const up = (y) => 8 + ((high - y) / (high - low)) * 110, below = (y) => 176 - (y / most) * 26;
  const by = (26 / most) / (110 / (high - low)), sized = by < 1 ? ["reduced", "\u00f7", 1 / by] : ["enlarged", "\u00d7", by];
  Object.keys(UNITS).forEach((unit, j) => {
    const board = find(`panel-${unit}`), error = stored(unit)[k][0];
    board.setAttribute("viewBox", `0 0 ${wide} 206`);
    board.replaceChildren();
    draw("path", { class: "grid", d: path([[4, 176], [wide - 4, 176]]) }, board);
    draw("path", { class: "net", d: path(xs.map((x, i) => [across(x), up(made[j][i])])) }, board);
    draw("path", { class: "curve", d: path(xs.map((x, i) => [across(x), up(values[i])])) }, board);
    draw("path", { class: "miss", d: path(xs.map((x, i) => [across(x), below(made[j][i] - values[i])])) }, board);
    draw("text", { x: 4, y: 144 }, board, wide < 180 ? `error ${sized[1]} ${two(sized[2])}` : `error, ${sized[0]} ${times(sized[2])}`);
    for (const x of nets[j].joints) draw("circle", { class: "joint", cx: across(x), cy: up(nets[j].value(x)), r: 3.2 }, board);
    const words = `error ${plain(error)}`;
    board.setAttribute("aria-label", `${UNITS[unit][0]}: ${words}`);
    board.nextElementSibling.lastChild.textContent = words;
  });
}

function errors(rising) {
  const board = find("errors"), log = Math.log10;
  const of = (unit, by) => stored(unit, by).map(([error], i) => [log(LEAST + STEP * i), log(error)]);
  const all = Object.keys(WAYS).flatMap((by) => Object.keys(UNITS).flatMap((unit) => of(unit, by).map(([, y]) => y)));
  const low = Math.floor(Math.min(...all)), top = Math.ceil(Math.max(...all));
  const up = Array.from({ length: top - low + 1 }, (_, i) => [low + i, power(low + i)]).filter((_, i) => (top - low < 5 ? 1 : i % 2 === 0));
  const sizes = [16, 31, 46, 61, 91, 121].map((size) => [log(size), size]);
  const [left, right] = [log(LEAST) - 0.02, log(LEAST + 7 * STEP) + 0.17];
  const { at, inside } = axes(board, 280, [left, right, low, top], sizes, up, ["parameters (log scale)", "error (log scale)"]);
  draw("path", { d: path([at([log(LEAST + STEP * k), low]), at([log(LEAST + STEP * k), top])]) }, inside);
  if (way === "best") [["mlp", 2, -6, "start"], ["glu", 3, 19, "end"]].forEach(([unit, order, off, side]) => { // through the widest
    const [x, y] = of(unit, "best")[7];
    const above = (to) => at([to, y - order * (to - x) + 0.12]);
    draw("path", { class: "slope", d: path([left, x].map(above)) }, inside);
    draw("text", { x: above(log(70))[0], y: above(log(70))[1] + off, "text-anchor": side }, board, `slope \u2212${order}`);
  });
  const ends = Object.keys(UNITS).map((unit) => [unit, at(of(unit)[7])[1] + 4]).sort(([, a], [, b]) => a - b);
  for (let round = 0; round < 9; round++) [[0, 1], [1, 2]].forEach(([a, b]) => { // names at the lines' ends keep apart
    const push = Math.max(13 - ends[b][1] + ends[a][1], 0) / 2;
    [ends[a][1], ends[b][1]] = [ends[a][1] - push, ends[b][1] + push];
  });
  for (const [unit, y] of ends) {
    const own = draw("g", { style: `--own: var(--${unit})` }, board), points = of(unit).map(at), best = of(unit, "best").map(at);
    if (way !== "best") draw("path", { class: "line faint", d: path(best) }, own);
    const line = draw("path", { class: "line", d: path(points) }, own);
    const dots = points.map(([cx, cy], i) => draw("circle", { cx, cy, r: i === k ? 6 : 2.5 }, own));
    draw("text", { class: "name", x: points[7][0] + 8, y }, own, UNITS[unit][0]);
    if (!rising) continue;
    line.animate({ d: [best, points].map((ends) => `path("${path(ends)}")`) }, 900);
    dots.forEach((dot, i) => dot.animate({ cy: [best[i][1], points[i][1]].map((y) => `${y}px`) }, 900));
  }
  const [floor, end] = [2, 7].map((i) => at(of("swiglu", "best")[i]));
  if (stored("swiglu", "best")[7][0] < 1e-6) draw("text", { x: end[0] - 6, y: floor[1] - 8, "text-anchor": "end" }, board, "limit of 64-bit arithmetic");
}

function show(rising) {
  const size = LEAST + STEP * k, by = WAYS[way];
  const [mlp, glu, swiglu] = Object.keys(UNITS).map((unit) => stored(unit)[k][0]);
  const lost = Object.entries(UNITS).map(([unit, [title]]) => `${title} ${times(stored(unit)[k][0] / stored(unit, "best")[k][0])}`);
  find("size").setAttribute("aria-valuetext", `${size} parameters`);
  document.querySelector("output").textContent = size;
  find("smooth").textContent = name === "kinked" ? "a smooth gate (SwiGLU) more until the kink stops it" : "a smooth gate with it (SwiGLU) or without far more";
  find("said").textContent = `At ${size} parameters` + (way === "best" ? `, ${by}: against the` : ` AdamW\u2019s errors are larger than the best found: ` +
    `${lost.join(", ")}. Against its`) + ` MLP\u2019s error the GLU\u2019s is ${against(mlp / glu)}, the SwiGLU\u2019s ${against(mlp / swiglu)}.`;
  find("errors").setAttribute("aria-label", `Errors against parameters, both logarithmic, ${by}: at ${size} MLP ${plain(mlp)}, GLU ${plain(glu)}, SwiGLU ${plain(swiglu)}`);
  panels(find("panel-mlp").clientWidth || 110);
  errors(rising);
}

// It moves by itself until a reader touches it: through the slider, then to AdamW. Not for who wants no motion.
let timer = 0, rest = 0;
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

find("curve").replaceChildren(...Object.entries(CURVES).map(([key, { title }]) => new Option(title, key)));
document.querySelector("code").textContent = `<iframe src="${location.href}" title="${document.title}" width="100%" height="960"></iframe>`;
document.forms[0].addEventListener("input", ({ target }) => {
  if (target.name !== "way") play(false);
  way = document.forms[0].elements.way.value;
  name = find("curve").value;
  move(find("size").valueAsNumber - 1);
});
find("play").addEventListener("click", () => {
  if (!timer && k === 7) move(0, (way = document.forms[0].elements.way.value = "best"));
  play(!timer);
});
addEventListener("pointerdown", ({ target }) => { if (!target.closest("button, fieldset")) play(false); });
new ResizeObserver(() => show()).observe(find("panels"));
new ResizeObserver(() => { // where the page around it may be asked
  if (frameElement) frameElement.style.height = `${document.body.scrollHeight + 4}px`;
}).observe(document.body);
try { // the theme of the page around it
  const page = parent.document.documentElement;
  const follow = () => (document.documentElement.dataset.theme = page.dataset.theme ?? "");
  if (parent !== window) new MutationObserver(follow).observe(page, { attributeFilter: ["data-theme"] }, follow());
} catch { /* another site's page: the reader's own choice */ }
if (calm.matches) move(4);
new IntersectionObserver(([seen], watch) => {
  if (!seen.isIntersecting) return;
  watch.disconnect();
  play(!calm.matches);
}).observe(find("panels"));
