// The argument as one figure: a curve, MLP, GLU and SwiGLU of as many parameters, and their errors, from stored weights.
"use strict";
const { draw, path, minus, axes } = drawing;
const find = (id) => document.getElementById(id);
const UNITS = {
  mlp: { title: "MLP", what: "straight pieces", gate: (z) => Math.max(z, 0) },
  glu: { title: "GLU", what: "parabolas", gate: (z) => Math.max(z, 0) },
  swiglu: { title: "SwiGLU", what: "smooth bends", gate: (z) => z / (1 + Math.exp(-z)) },
};
const WAYS = {
  best: ["with the best weights found", "Best weights found: by free knots (MLP, GLU), or the best of twelve runs of variable projection (SwiGLU), whose " +
    "arithmetic ends near 10\u207b\u2078; its gate does as well without the factor. Dotted: slopes \u22122 and \u22123, at twice the parameters a quarter and an eighth of the error."],
  adamw: ["trained by AdamW", "AdamW: torch\u2019s start, batches of 64 of 1,000 points, 10,000 steps, a rate that falls to zero by a cosine; " +
    "the median of three seeds. Dashed: the best weights found; dotted: slopes \u22122 and \u22123."],
};
const LEAST = 16, STEP = 15; // parameters at the slider's first place, and from one to the next
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// The forward pass of xsquared.units: weights in the order of its module, G, g, then U, u where the unit multiplies, D, d.
function network(unit, weights) {
  const parts = unit === "mlp" ? 3 : 5, n = (weights.length - 1) / parts;
  const part = (k) => weights.slice(k * n, (k + 1) * n);
  const [G, g, U, u, D] = parts === 3 ? [part(0), part(1), null, null, part(2)] : [0, 1, 2, 3, 4].map(part);
  const value = (x) => G.reduce((sum, slope, i) => sum + D[i] * UNITS[unit].gate(slope * x + g[i]) * (U ? U[i] * x + u[i] : 1), weights.at(-1));
  const joints = unit === "swiglu" ? [] : G.map((slope, i) => -g[i] / slope).filter((x) => x > -1 && x < 1);
  return { value, joints };
}
window.figure = { network }; // for the test

// Numbers as they are read: 0.012, 3 times a power of ten.
const power = (e) => `10${e < 0 ? "\u207b" : ""}${[...`${Math.abs(e)}`].map((digit) => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[digit]).join("")}`;
function plain(error) {
  const [digit, e] = error.toExponential(0).split("e");
  return error < 1e-3 ? `${digit}\u00b7${power(Number(e))}` : `${Number(error.toPrecision(2))}`;
}
// A share in words that can be said: the nearest simple one.
function times(ratio) {
  const two = (value) => Number(value.toPrecision(value < 10 ? 1 : 2));
  const big = (value) => (value < 1e6 ? two(value).toLocaleString("en") : `${Math.round(value / 1e6)} million`);
  if (ratio < 0.67) return `1/${big(1 / ratio)} of`;
  return ratio < 1.5 ? `${ratio.toFixed(1)} times` : `${big(ratio)} times`;
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
  const enlarged = Number(((26 / most) / (110 / (high - low))).toPrecision(2)).toLocaleString("en");
  Object.keys(UNITS).forEach((unit, j) => {
    const board = find(`panel-${unit}`), error = stored(unit)[k][0];
    board.setAttribute("viewBox", `0 0 ${wide} 206`);
    board.replaceChildren();
    draw("path", { class: "explore-grid", d: path([[4, 176], [wide - 4, 176]]) }, board);
    draw("path", { class: "net", d: path(xs.map((x, i) => [across(x), up(made[j][i])])) }, board);
    draw("path", { class: "curve", d: path(xs.map((x, i) => [across(x), up(values[i])])) }, board);
    draw("path", { class: "miss", d: path(xs.map((x, i) => [across(x), below(made[j][i] - values[i])])) }, board);
    draw("text", { x: 4, y: 144 }, board, `error \u00d7 ${enlarged}`);
    for (const x of nets[j].joints) draw("circle", { class: "joint", cx: across(x), cy: up(nets[j].value(x)), r: 3.2 }, board);
    const words = `misses by ${plain(error)}`;
    board.setAttribute("aria-label", `${UNITS[unit].title}, ${UNITS[unit].what}: ${words}`);
    board.nextElementSibling.lastChild.textContent = words;
  });
}

function errors() {
  const board = find("errors"), log = Math.log10;
  const of = (unit, by) => stored(unit, by).map(([error], i) => [log(LEAST + STEP * i), log(error)]);
  const all = Object.keys(WAYS).flatMap((by) => Object.keys(UNITS).flatMap((unit) => of(unit, by).map(([, y]) => y)));
  const low = Math.floor(Math.min(...all)), top = Math.ceil(Math.max(...all));
  const up = Array.from({ length: top - low + 1 }, (_, i) => [low + i, power(low + i)]).filter((_, i) => (top - low < 5 ? 1 : i % 2 === 0));
  const sizes = [16, 31, 46, 61, 91, 121].map((size) => [log(size), size]);
  const [left, right] = [log(LEAST) - 0.02, log(LEAST + 7 * STEP) + 0.17];
  const { at, inside } = axes(board, 280, [left, right, low, top], sizes, up, ["parameters", "error"]);
  draw("path", { d: path([at([log(LEAST + STEP * k), low]), at([log(LEAST + STEP * k), top])]) }, inside);
  [["mlp", 2], ["glu", 3]].forEach(([unit, order]) => { // through the widest of the best weights
    const [x, y] = of(unit, "best")[7];
    draw("path", { class: "slope", d: path([left, x].map((to) => at([to, y - order * (to - x) + 0.12]))) }, inside);
  });
  let free = -Infinity; // names at the lines' ends keep apart
  for (const unit of Object.keys(UNITS).sort((a, b) => stored(b)[7][0] - stored(a)[7][0])) {
    const own = draw("g", { style: `--own: var(--${unit})` }, board);
    if (way !== "best") draw("path", { class: "line faint", d: path(of(unit, "best").map(at)) }, own);
    draw("path", { class: "line", d: path(of(unit).map(at)) }, own);
    of(unit).map(at).forEach(([cx, cy], i) => draw("circle", { cx, cy, r: i === k ? 6 : 2.5 }, own));
    const [x, y] = at(of(unit)[7]);
    draw("text", { class: "name", x: x + 8, y: (free = Math.max(y + 4, free + 13)) }, own, UNITS[unit].title);
  }
}

function show() {
  const size = LEAST + STEP * k, [by, note] = WAYS[way];
  const [mlp, glu, swiglu] = Object.keys(UNITS).map((unit) => stored(unit)[k][0]);
  const lost = stored("glu")[k][0] / stored("glu", "best")[k][0];
  find("size").setAttribute("aria-valuetext", `${size} parameters`);
  document.querySelector("output").textContent = size;
  find("said").textContent = `At ${size} parameters, ${by}, the MLP misses by ${plain(mlp)}, the GLU has ${times(glu / mlp)} that error, ` +
    `the SwiGLU ${swiglu < 1e-6 ? "next to none" : `${times(swiglu / mlp)} it`}.` + (way === "best" ? "" : ` The best GLU found has ${times(1 / lost)} AdamW\u2019s error.`);
  find("way").textContent = `${note} Errors are root mean squares, in the curve\u2019s standard deviations.`;
  find("errors").setAttribute("aria-label", `Errors against parameters, both logarithmic, ${by}: at ${size} MLP ${plain(mlp)}, GLU ${plain(glu)}, SwiGLU ${plain(swiglu)}`);
  panels(find("panel-mlp").clientWidth || 110);
  errors();
}

// It moves once through the slider by itself, until a reader touches it; not for who wants no motion.
let timer = 0;
function play(going) {
  clearInterval(timer);
  timer = going ? setInterval(() => (k < 7 ? move(k + 1) : play(false)), 1100) : 0;
  find("play").textContent = going ? "Pause" : "Play";
  find("said").setAttribute("aria-live", going ? "off" : "polite");
}
function move(to) {
  find("size").value = (k = to) + 1;
  show();
}

for (const [unit, { title, what }] of Object.entries(UNITS)) {
  const box = find("panels").appendChild(document.createElement("figure"));
  box.style.setProperty("--own", `var(--${unit})`);
  draw("svg", { id: `panel-${unit}`, role: "img", height: 206 }, box);
  box.insertAdjacentHTML("beforeend", `<figcaption><b>${title}</b>: ${what}<br><span></span></figcaption>`);
}
find("curve").replaceChildren(...Object.entries(CURVES).map(([key, { title }]) => new Option(title, key)));
document.querySelector("code").textContent = `<iframe src="${location.href}" title="${document.title}" width="100%" height="900"></iframe>`;
document.forms[0].addEventListener("input", () => {
  play(false);
  way = document.forms[0].elements.way.value;
  name = find("curve").value;
  move(find("size").valueAsNumber - 1);
});
find("play").addEventListener("click", () => {
  if (!timer && k === 7) move(0);
  play(!timer);
});
addEventListener("pointerdown", (event) => { if (event.target.id !== "play") play(false); });
new ResizeObserver(show).observe(find("panels"));
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
