// Splines on knots that a reader moves, and networks that train. The same spaces, quadrature and layers as xsquared.splines
// and xsquared.units: a browser test holds them together.
"use strict";
const { draw, path, said, placed, minus, ticks, axes } = drawing;

// A formula in x as a function, by recursive descent. What is wrong with it is said in one line.
const NAMES = { pi: Math.PI, e: Math.E };
const FUNCTIONS = "sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs".split(" ");
function parse(text) {
  if (text.length > 200) throw new Error("A formula has at most 200 characters.");
  const parts = text.toLowerCase().match(/(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[a-z_]\w*|\*\*|\S/g) ?? [];
  let at = 0;
  const refuse = (wanted) => {
    const place = at < parts.length ? `\u201c${parts[at]}\u201d, part ${at + 1} of the formula` : "The end of the formula";
    throw new Error(`${place}: expected ${wanted}.`);
  };
  const take = (...signs) => (signs.includes(parts[at]) ? parts[at++] : "");
  const joined = (part, signs) => () => {
    let made = part();
    for (let sign; (sign = take(...Object.keys(signs))); ) {
      const [join, left, right] = [signs[sign], made, part()];
      made = (x) => join(left(x), right(x));
    }
    return made;
  };
  function signed() {
    if (take("+")) return signed();
    if (take("-")) {
      const inner = signed();
      return (x) => -inner(x);
    }
    const base = atom();
    if (!take("^", "**")) return base;
    const power = signed();
    return (x) => base(x) ** power(x);
  }
  function atom() {
    const part = parts[at] ?? "";
    if (take("x")) return (x) => x;
    if (/^[\d.]/.test(part) || Object.hasOwn(NAMES, part)) {
      const value = NAMES[part] ?? Number(part);
      if (!Number.isFinite(value)) refuse("a number that is finite");
      at++;
      return () => value;
    }
    const apply = FUNCTIONS.includes(part) ? Math[take(part)] : (x) => x;
    if (!take("(")) refuse(apply === Math[part] ? `( after ${part}` : `a number, x, pi, e, ( or one of ${FUNCTIONS.join(", ")}`);
    const inner = sum();
    if (!take(")")) refuse("an operator or )");
    return (x) => apply(inner(x));
  }
  const product = joined(signed, { "*": (a, b) => a * b, "/": (a, b) => a / b });
  const sum = joined(product, { "+": (a, b) => a + b, "-": (a, b) => a - b });
  const made = sum();
  if (at < parts.length) refuse("one of + - * / ^");
  return made;
}

// A target of one's own, refused where it is not finite.
function target(text, from, to) {
  const [a, b] = [Number(from), Number(to)];
  if (!(Math.abs(a) < 1e6 && a < b && b < 1e6)) throw new Error("The interval: expected two numbers, the smaller first.");
  const value = parse(text);
  let largest = 0;
  for (let i = 0; i <= 2400; i++) {
    const x = a + ((b - a) * i) / 2400;
    if (!Number.isFinite(value(x))) throw new Error(`${text} is no finite number at x = ${Number(x.toPrecision(6))}.`);
    largest = Math.max(largest, Math.abs(value(x)));
  }
  if (!(largest > 1e-60 && largest < 1e60)) throw new Error(`${text} has no value between 1e-60 and 1e60 in size, or a larger one.`);
  return { value, domain: [a, b], text };
}

// Gauss-Legendre nodes and weights on [0, 1], by Newton's method on the recurrence.
const rules = new Map();
function rule(count) {
  if (rules.has(count)) return rules.get(count);
  const nodes = new Float64Array(count);
  const weights = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let z = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let turn = 0; turn < 8; turn++) {
      let lower = 1, upper = z;
      for (let j = 1; j < count; j++) [lower, upper] = [upper, ((2 * j + 1) * z * upper - j * lower) / (j + 1)];
      slope = (count * (lower - z * upper)) / (1 - z * z);
      z -= upper / slope;
    }
    nodes[count - 1 - i] = (1 + z) / 2;
    weights[count - 1 - i] = 1 / ((1 - z * z) * slope * slope);
  }
  rules.set(count, [nodes, weights]);
  return [nodes, weights];
}

const horner = (powers, xi) => powers.reduceRight((sum, c) => sum * xi + c, 0);

const LEAST_NODES = 240;
const EXTRA_NODES = 6;

// The functions of the space that live on cell k, in powers of the cell's share xi. Cells share the first continuity + 1
// with the cell before, and so many at the end with the next.
function local({ degree, continuity }, t, k) {
  const h = t[k + 1] - t[k];
  if (degree === 1) return [[1, -1], [0, 1]];
  if (degree === 3) return [[1, 0, -3, 2], [0, h, -2 * h, h], [0, 0, 3, -2], [0, 0, -h, h]];
  if (!continuity) return [[1, -1, 0], [0, 4, -4], [0, 1, 0]];
  const left = k ? h / (t[k + 1] - t[k - 1]) : 1; // B-splines
  const right = k < t.length - 2 ? h / (t[k + 2] - t[k]) : 1;
  return [[left, -2 * left, left], [1 - left, 2 * left, -left - right], [0, 0, right]];
}

// The spline of least integral of the squared error: banded normal equations in the local basis, by Cholesky. Its slope is
// the derivative of that integral by the knots: moving a knot adds a power that only the jump there multiplies.
function fit(value, space, t) {
  const { degree, continuity } = space;
  const size = degree + 1;
  const block = degree - continuity;
  const n = t.length - 1;
  const total = n * block + continuity + 1;
  const count = Math.max(degree + EXTRA_NODES, Math.ceil(LEAST_NODES / n));
  const [nodes, weights] = rule(count);
  const band = Array.from({ length: total }, () => new Float64Array(size)); // [row][row - column]
  const right = new Float64Array(total);
  const values = [];
  const bases = [];
  for (let k = 0; k < n; k++) {
    const h = t[k + 1] - t[k];
    const basis = local(space, t, k);
    const f = Array.from(nodes, (xi) => value(t[k] + xi * h));
    values.push(f);
    bases.push(basis);
    for (let i = 0; i < size; i++) {
      for (let q = 0; q < count; q++) right[k * block + i] += h * weights[q] * f[q] * horner(basis[i], nodes[q]);
      for (let j = 0; j <= i; j++)
        for (let a = 0; a < size; a++)
          for (let b = 0; b < size; b++) band[k * block + i][i - j] += (h * basis[i][a] * basis[j][b]) / (1 + a + b);
    }
  }
  for (let i = 0; i < total; i++) {
    const first = Math.max(0, i - size + 1);
    for (let j = first; j <= i; j++) {
      let sum = band[i][i - j];
      for (let m = Math.max(first, j - size + 1); m < j; m++) sum -= band[i][i - m] * band[j][j - m];
      band[i][i - j] = i === j ? Math.sqrt(sum) : sum / band[j][0];
    }
    for (let j = first; j < i; j++) right[i] -= band[i][i - j] * right[j];
    right[i] /= band[i][0];
  }
  for (let i = total - 1; i >= 0; i--) {
    for (let j = i + 1; j < Math.min(total, i + size); j++) right[i] -= band[j][j - i] * right[j];
    right[i] /= band[i][0];
  }
  const pieces = [];
  const cells = new Float64Array(n);
  const means = new Float64Array(n); // integrals of the error, and of the error times the distance from the left knot
  const firsts = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    const h = t[k + 1] - t[k];
    const piece = Array.from({ length: size }, (_, p) => bases[k].reduce((sum, row, i) => sum + right[k * block + i] * row[p], 0));
    for (let q = 0; q < count; q++) {
      const error = horner(piece, nodes[q]) - values[k][q];
      cells[k] += h * weights[q] * error ** 2;
      means[k] += h * weights[q] * error;
      firsts[k] += h * h * weights[q] * nodes[q] * error;
    }
    pieces.push(piece);
  }
  const bend = (piece, xi, h) => {
    for (let m = 0; m <= continuity; m++) piece = piece.slice(1).map((c, i) => ((i + 1) * c) / h);
    return horner(piece, xi);
  };
  const slope = new Float64Array(n + 1);
  for (let k = n - 1, zeroth = 0, first = 0; k > 0; k--) {
    const h = t[k + 1] - t[k];
    first += firsts[k] + h * zeroth;
    zeroth += means[k];
    const jump = bend(pieces[k], 0, h) - bend(pieces[k - 1], 1, t[k] - t[k - 1]);
    slope[k] = -2 * jump * (continuity ? first : zeroth);
  }
  return { pieces, cells, slope, rmse: Math.sqrt(cells.reduce((sum, own) => sum + own, 0) / (t[n] - t[0])) };
}

const equal = ([a, b], n) => Array.from({ length: n + 1 }, (_, i) => (i < n ? a + ((b - a) * i) / n : b));

// Cells of one error each, for many cells: knots in proportion to roots of the errors of many equal cells; and the constant
// C of the errors C n^-k that such knots tend to.
function spread({ value, domain }, space) {
  const power = 2 * space.degree + 3;
  const roots = (cells) => Array.from(fit(value, space, equal(domain, cells)).cells, (own) => own ** (1 / power));
  const total = (all) => all.reduce((sum, one) => sum + one, 0);
  const many = equal(domain, 240);
  const shares = roots(240);
  const mass = total(shares);
  // Ends and zeros of the derivative change as much as one cell: extrapolated.
  const constant = (2 * mass - total(roots(120))) ** (power / 2) / Math.sqrt(domain[1] - domain[0]);
  const widened = shares.map((one) => one / mass + 1e-4); // no cell without any
  const all = total(widened);
  const knots = (n) => {
    const t = [domain[0]];
    for (let cell = 0, sum = 0; t.length < n; ) {
      const goal = (all * t.length) / n;
      if (cell < 239 && sum + widened[cell] < goal) sum += widened[cell++];
      else t.push(many[cell] + ((goal - sum) / widened[cell]) * (many[cell + 1] - many[cell]));
    }
    return [...t, domain[1]];
  };
  return { order: space.degree + 1, constant, knots };
}

// Variable projection: a step of BFGS on the error of the best spline, in the logarithms of the cells' widths, so that
// knots never cross.
const start = ({ value }, space, t) => ({ value, space, t, made: fit(value, space, t), steps: 0, over: t.length < 3, metric: null });
const dot = (a, b) => a.reduce((sum, one, i) => sum + one * b[i], 0);
function uphill({ t, made }) {
  const n = t.length - 1;
  const length = t[n] - t[0];
  const mean = made.slope.reduce((sum, s, j) => sum + s * (t[j] - t[0]), 0) / length;
  let rest = made.slope.reduce((sum, s) => sum + s, 0);
  return Array.from({ length: n }, (_, i) => {
    rest -= made.slope[i];
    return ((t[i + 1] - t[i]) * (rest - mean)) / (made.rmse ** 2 * length);
  });
}
function project(run) {
  if (run.over) return;
  const n = run.t.length - 1;
  const size = n / (2 * run.space.degree + 3) ** 2; // about the inverse of the second derivative
  run.metric ??= Array.from({ length: n }, (_, i) => Float64Array.from({ length: n }, (_, j) => (i === j ? size : 0)));
  const gradient = run.gradient ?? uphill(run);
  const way = run.metric.map((row) => -dot(gradient, row));
  const limit = Math.min(1, 0.7 / Math.max(...way.map(Math.abs)));
  const fall = dot(way, gradient);
  const least = (run.t[n] - run.t[0]) / 1000; // knots do not meet
  run.steps++;
  for (let share = limit; share > 1e-6; share /= 2) {
    const widths = way.map((one, i) => Math.max((run.t[i + 1] - run.t[i]) * Math.exp(share * one), least));
    const scale = (run.t[n] - run.t[0]) / widths.reduce((sum, one) => sum + one, 0);
    const t = [run.t[0]];
    for (const width of widths) t.push(t.at(-1) + width * scale);
    t[n] = run.t[n];
    const made = fit(run.value, run.space, t);
    const change = 2 * Math.log(made.rmse / run.made.rmse);
    if (!(change <= 1e-4 * share * fall)) continue;
    const moved = way.map((_, i) => Math.log((t[i + 1] - t[i]) / (run.t[i + 1] - run.t[i])));
    Object.assign(run, { t, made });
    run.gradient = uphill(run);
    const bent = run.gradient.map((one, i) => one - gradient[i]);
    const curve = dot(bent, moved);
    if (curve > 0) {
      const along = run.metric.map((row) => dot(bent, row));
      const twice = 1 + dot(bent, along) / curve;
      run.metric.forEach((row, i) => row.forEach((_, j) => {
        row[j] += (twice * moved[i] * moved[j] - along[i] * moved[j] - moved[i] * along[j]) / curve;
      }));
    }
    run.over = change > -1e-9 || run.steps >= 400;
    return;
  }
  run.over = true;
}
// The best knots found: from cells of one error, from equal ones, and from the best of one cell less with a cell parted.
function search(made, space, law, n, before) {
  const starts = [law.knots(n), equal(made.domain, n)];
  if (before) {
    const { cells } = fit(made.value, space, before);
    const worst = [...cells.keys()].sort((i, j) => cells[j] - cells[i]).slice(0, n > 12 ? 2 : n);
    for (const share of n > 4 ? [0.5] : [0.2, 0.5, 0.8])
      for (const k of worst) starts.push(before.toSpliced(k + 1, 0, before[k] + share * (before[k + 1] - before[k])));
  }
  const ended = starts.map((t) => {
    const run = start(made, space, t);
    while (!run.over) project(run);
    return { rmse: run.made.rmse, t: run.t };
  });
  return ended.reduce((best, one) => (one.rmse < best.rmse ? one : best));
}

// A network as xsquared.units has it, of one input; every weight is trained, by Adam on the mean square over the points.
const letters = ({ factors }) => ["G", "g", "U", "u", "Q", "q"].slice(0, 2 + 2 * factors).concat("D", "d");
function network(space, n, seed = 1) {
  const random = () => { // in [-1, 1)
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 31 - 1;
  };
  const net = { space, steps: 0 };
  for (const letter of letters(space)) net[letter] = Float64Array.from({ length: letter === "d" ? 1 : n }, random);
  net.G.fill(1);
  net.g = net.g.map((_, i) => 1 - (2 * i) / n); // the first gate is open everywhere on [-1, 1]
  net.d.fill(0);
  return net;
}
function forward(net, x) {
  let y = net.d[0];
  for (let i = 0; i < net.G.length; i++) {
    const z = net.G[i] * x + net.g[i];
    if (z > 0) y += net.D[i] * z ** net.space.power * (net.U ? net.U[i] * x + net.u[i] : 1) * (net.Q ? net.Q[i] * x + net.q[i] : 1);
  }
  return y;
}
function adam(net, xs, ys, rate = 0.02) {
  const { power } = net.space;
  const slopes = {};
  for (const letter of letters(net.space)) slopes[letter] = new Float64Array(net[letter].length);
  xs.forEach((x, m) => {
    const pull = (2 * (forward(net, x) - ys[m])) / xs.length;
    slopes.d[0] += pull;
    for (let i = 0; i < net.G.length; i++) {
      const z = net.G[i] * x + net.g[i];
      if (z <= 0) continue;
      const gate = z ** power;
      const one = net.U ? net.U[i] * x + net.u[i] : 1;
      const two = net.Q ? net.Q[i] * x + net.q[i] : 1;
      const add = (weight, bias, by) => { slopes[weight][i] += by * x; slopes[bias][i] += by; };
      slopes.D[i] += pull * gate * one * two;
      add("G", "g", pull * net.D[i] * power * z ** (power - 1) * one * two);
      if (net.U) add("U", "u", pull * net.D[i] * gate * two);
      if (net.Q) add("Q", "q", pull * net.D[i] * gate * one);
    }
  });
  net.steps++;
  net.moments ??= Object.fromEntries(Object.entries(slopes).map(([letter, all]) => [letter, [all.map(() => 0), all.map(() => 0)]]));
  for (const letter in slopes)
    slopes[letter].forEach((slope, i) => {
      const [first, second] = net.moments[letter];
      first[i] = 0.9 * first[i] + 0.1 * slope;
      second[i] = 0.999 * second[i] + 0.001 * slope ** 2;
      const size = Math.sqrt(second[i] / (1 - 0.999 ** net.steps)) + 1e-8;
      net[letter][i] -= ((rate / (1 - 0.9 ** net.steps)) * first[i]) / size;
    });
}

const at = (id) => document.getElementById(`explore-${id}`);
const data = OPTIMA;
const targets = {};
for (const [key, { text, domain }] of Object.entries(data.targets)) targets[key] = target(text, ...domain);
window.explore = { data, targets, parse, fit, spread, search, network, adam }; // for the test

// What is shown: a choice, the knots with the interval's ends, and what a training has made of them.
const OWN = "your own";
const WIDEST = 50;
const POINTS = Array.from({ length: 200 }, (_, i) => (2 * i + 1) / 200 - 1);
let name = Object.keys(targets)[0], unit = "glu", n = 6;
let own = targets[name];
let knots = [];
let now = null; // rmse, joints, value
let run = null; // a training: of knots, or of a network
let going = false;
const chosen = () => (name === OWN ? own : targets[name]);
const space = () => data.units[unit];
const ends = () => chosen().domain;

// The best knots found: those of the book's search, else of a search here, or a reader's own if they are better.
const known = new Map();
function bests() {
  const key = [chosen().text, ends(), unit].join();
  if (!known.has(key)) {
    const [a, b] = ends();
    const stored = data.targets[name]?.optima[unit] ?? [];
    const found = stored.map(([rmse, places]) => ({ rmse, t: [a, ...places.map((place) => a + (b - a) * data.step * place), b] }));
    const even = Array.from({ length: WIDEST }, (_, i) => fit(chosen().value, space(), equal(ends(), i + 1)).rmse);
    known.set(key, { law: spread(chosen(), space()), found, even });
  }
  return known.get(key);
}
function best(m = n) {
  const { law, found } = bests();
  return (found[m - 1] ??= search(chosen(), space(), law, m, found[m - 2]?.t));
}
// Those of other widths, in the moments that are left.
let searching = 0;
function fill() {
  clearTimeout(searching);
  const { found } = bests();
  const until = performance.now() + 12;
  let missing = 0;
  while (missing < WIDEST && (found[missing] || performance.now() < until)) best(++missing);
  if (missing < WIDEST) searching = setTimeout(fill, 30);
  drawLaw();
  tell();
}
// The left picture: target, fit and knots above, the error below. Pixels are CSS pixels at every width.
const HIGH = { fit: 230, gap: 40, error: 90, law: 360 };
const svg = at("fit");
let across = (x) => x;
let back = (x) => x;
let thumbs = [];

function frame() {
  const width = svg.clientWidth || 340;
  const [a, b] = ends();
  const left = 42, right = width - 14;
  across = (x) => left + ((x - a) / (b - a)) * (right - left);
  back = (px) => a + ((px - left) / (right - left)) * (b - a);
  svg.setAttribute("viewBox", `0 0 ${width} ${HIGH.fit + HIGH.gap + HIGH.error + 24}`);
  svg.replaceChildren();
  thumbs = [];
  const still = draw("g", { "aria-hidden": "true" }, svg);
  for (const id of ["lines", "hinges", "target", "fit", "zero", "error", "texts"])
    draw(/lines|texts/.test(id) ? "g" : "path", { class: `explore-${id}` }, still);
  for (let i = 1; i < n && !run?.D; i++) {
    const thumb = draw("g", { role: "slider", tabindex: "0", class: "explore-knot", "aria-label": `Knot ${i} of ${n - 1}` }, svg);
    draw("path", { d: `M0,0V${HIGH.fit}M0,${HIGH.fit + HIGH.gap}v${HIGH.error}`, class: "explore-rule" }, thumb);
    draw("rect", { x: -12, y: HIGH.fit - 12, width: 24, height: 32, class: "explore-room" }, thumb);
    draw("path", { d: `M0,${HIGH.fit - 8}l7,10v12h-14v-12z`, class: "explore-thumb" }, thumb);
    thumb.addEventListener("keydown", (event) => press(event, i));
    thumb.addEventListener("pointerdown", (event) => {
      thumb.setPointerCapture(event.pointerId);
      thumb.focus({ focusVisible: false });
      event.preventDefault();
    });
    thumb.addEventListener("pointermove", (event) => {
      if (thumb.hasPointerCapture(event.pointerId)) move(i, back(event.clientX - svg.getBoundingClientRect().left));
    });
    thumbs.push(thumb);
  }
}

const room = (i) => {
  const gap = (ends()[1] - ends()[0]) / 1000;
  return [Math.min(knots[i - 1] + gap, knots[i]), Math.max(knots[i + 1] - gap, knots[i])];
};
function move(i, x) {
  const [low, high] = room(i);
  pause();
  run = null;
  knots[i] = Math.min(Math.max(x, low), high);
  show();
}
function press(event, i) {
  const length = ends()[1] - ends()[0];
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
  const [low, high] = room(i);
  if (event.key in steps) move(i, knots[i] + (steps[event.key] * length) / 200);
  else if (event.key === "Home") move(i, low);
  else if (event.key === "End") move(i, high);
  else return;
  event.preventDefault();
}

// The curve through x and value(x, cell, share of the cell), joints met exactly.
function sampled(f) {
  const points = [];
  const { joints } = now;
  const m = Math.max(6, Math.ceil(240 / joints.length));
  for (let k = 0; k + 1 < joints.length; k++)
    for (let s = 0; s <= m; s++) {
      const x = joints[k] + ((joints[k + 1] - joints[k]) * s) / m;
      points.push([x, f(x, k, s / m)]);
    }
  return points;
}

function drawFit() {
  const part = (id) => svg.querySelector(`.explore-${id}`);
  const truth = sampled((x) => chosen().value(x));
  const made = sampled(now.value);
  const error = made.map(([x, y], i) => [x, y - truth[i][1]]);
  const ys = truth.map(([, y]) => y);
  const low = Math.min(...ys), high = Math.max(Math.max(...ys), low + 1e-9);
  const up = (y) => HIGH.fit - 28 - Math.min(Math.max((y - low) / (high - low), -0.12), 1.07) * (HIGH.fit - 44);
  const most = Math.max(...error.map(([, y]) => Math.abs(y))) || 1;
  const middle = HIGH.fit + HIGH.gap + HIGH.error / 2;
  const curve = (points, height) => path(points.map(([x, y]) => [across(x), height(y)]));
  part("target").setAttribute("d", curve(truth, up));
  part("fit").setAttribute("d", curve(made, up));
  part("error").setAttribute("d", curve(error, (y) => middle - (y / most) * (HIGH.error / 2)));
  part("zero").setAttribute("d", path([[across(ends()[0]), middle], [across(ends()[1]), middle]]));
  const hinges = thumbs.length ? [] : now.joints.slice(1, -1);
  part("hinges").setAttribute("d", hinges.map((x) => `M${across(x).toFixed(1)},0v${HIGH.fit}m0,${HIGH.gap}v${HIGH.error}`).join(""));
  const texts = part("texts");
  texts.replaceChildren();
  const label = (x, y, text, anchor) => draw("text", { x, y, "text-anchor": anchor }, texts, text);
  for (const y of [low, high]) label(36, up(y) + 4, minus(y.toPrecision(3)).replace(/\.?0+$/, ""), "end");
  label(across(ends()[0]), HIGH.fit + HIGH.gap - 6, `error, at most ${said(most)}`, "start");
  for (const x of [ends()[0], (ends()[0] + ends()[1]) / 2, ends()[1]])
    label(across(x), HIGH.fit + HIGH.gap + HIGH.error + 18, placed(x).replace(/\.?0+$/, ""), "middle");
  thumbs.forEach((thumb, j) => {
    const [least, largest] = room(j + 1);
    const x = knots[j + 1];
    thumb.setAttribute("transform", `translate(${across(x).toFixed(2)},0)`);
    thumb.setAttribute("aria-valuemin", least.toFixed(4));
    thumb.setAttribute("aria-valuemax", largest.toFixed(4));
    thumb.setAttribute("aria-valuenow", x.toFixed(4));
    thumb.setAttribute("aria-valuetext", `${placed(x)}, error ${said(now.rmse)}`);
  });
}

// The right picture, both axes logarithmic: errors of the best knots and of equal cells against neurons, the order's line,
// and the point of what is shown.
function drawLaw() {
  const board = at("law");
  const { law: { order, constant }, found, even } = bests();
  const size = Math.max(...even, now.rmse);
  const errors = found.map(({ rmse }) => rmse);
  const least = Math.min(...errors.filter((error) => error > 0), now.rmse || size, constant * WIDEST ** -order || size);
  const decade = Math.log10;
  const bottom = Math.floor(decade(Math.max(least, size * 1e-16)));
  const top = Math.max(Math.ceil(decade(size)), bottom + 1);
  const by = Math.ceil((top - bottom) / 8);
  const up = Array.from({ length: 9 }, (_, i) => bottom + by * i).filter((e) => e <= top);
  const { at: pixels, inside } = axes(board, HIGH.law, [0, decade(WIDEST), bottom, top], [1, 2, 5, 10, 20, 50].map((m) => [decade(m), m]),
    ticks(up, "1e"), ["neurons n", "root mean square error"]);
  const place = (m, error) => pixels([decade(m), Math.max(decade(error), bottom)]);
  const line = Array.from({ length: 99 }, (_, i) => 1 + i / 2).map((m) => [decade(m), decade(constant * m ** -order)]);
  if (constant) draw("path", { class: "explore-order", d: path(line.map(pixels)) }, inside);
  const dots = (kind, all) => all.forEach((error, i) => {
    const [cx, cy] = place(i + 1, error);
    draw("circle", { class: kind, cx, cy, r: 2.2 }, board);
  });
  dots("explore-even", even);
  dots("explore-best", errors);
  draw("path", { class: "explore-here", d: `M${place(n, now.rmse)}m0,-7l7,7l-7,7l-7,-7z` }, board);
  board.setAttribute("aria-label", `Errors of the best knots at 1 to ${errors.length} neurons, falling to ` +
    `${said(least)}; the line of order ${order}; what is shown at ${n} neurons and ${said(now.rmse)}.`);
}

function tell() {
  const { rmse, t } = best();
  const { order, constant } = bests().law;
  const far = run?.D ? NaN : Math.max(...knots.map((x, i) => Math.abs(x - t[i])));
  const rows = {
    here: said(now.rmse), best: said(rmse), over: (now.rmse / rmse || 1).toFixed(3), far: placed(far),
    line: said(constant * n ** -order),
  };
  for (const id in rows) at(id).textContent = rows[id].replace("NaN", "\u2013");
}

let late = 0;
function show() {
  if (run?.D) {
    const [a, b] = ends();
    const { scale: [middle, spread] } = run;
    const inward = (x) => (2 * (x - a)) / (b - a) - 1;
    const value = (x) => middle + spread * forward(run, inward(x));
    const square = POINTS.reduce((sum, x, i) => sum + (forward(run, x) - run.ys[i]) ** 2, 0) / POINTS.length;
    const hinges = [...run.G].map((weight, i) => a + ((b - a) * (1 - run.g[i] / weight)) / 2).filter((x) => x > a && x < b);
    now = { rmse: spread * Math.sqrt(square), joints: [a, ...hinges.sort((one, two) => one - two), b], value };
  } else {
    const made = fit(chosen().value, space(), knots);
    now = { ...made, joints: knots, value: (x, k, share) => horner(made.pieces[k], share) };
    if (now.rmse < best().rmse) bests().found[n - 1] = { rmse: now.rmse, t: [...knots] };
  }
  drawFit();
  drawLaw();
  tell();
  at("train").textContent = going ? "Pause" : "Train";
  clearTimeout(late);
  late = setTimeout(() => {
    const trained = run ? `, after ${run.steps} steps${run.over ? ", where no step gains more" : ""}` : "";
    at("live").textContent =
      `${n} neurons${trained}: error ${said(now.rmse)}, ${(now.rmse / best().rmse || 1).toFixed(2)} times that of the best knots found.`;
    keep();
  }, 300);
}

// The address keeps what is shown, so that a link shows it too.
function keep() {
  const [a, b] = ends();
  const moved = !run?.D && knots.some((x, i) => Math.abs(x - equal(ends(), n)[i]) > (b - a) * 1e-9);
  const asked = new URLSearchParams({ target: name, unit, n });
  if (name === OWN) for (const [key, value] of [["f", own.text], ["from", a], ["to", b]]) asked.set(key, value);
  if (moved) asked.set("knots", knots.slice(1, -1).map((x) => ((x - a) / (b - a)).toFixed(6)).join("_"));
  history.replaceState(null, "", `?${asked}${location.hash}`);
}

function begin(places) {
  pause();
  run = null;
  knots = [...places];
  at("count").textContent = n;
  frame();
  show();
  fill();
}
const evenly = () => begin(equal(ends(), n));

// Training, a step at a time: of knots with all else at its best, or of all weights by Adam. For who wants no motion,
// what would move is shown when it has come to its end.
const ROUND = 2000; // steps of Adam, after which it waits
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const byAdam = () => at("by").value === "adam";
function pause() {
  going = false;
  at("train").textContent = "Train";
}
function advance() {
  if (!run && byAdam()) {
    const [a, b] = ends();
    const values = POINTS.map((x) => chosen().value(a + ((x + 1) * (b - a)) / 2));
    const middle = values.reduce((sum, y) => sum + y, 0) / values.length;
    const spread = Math.sqrt(values.reduce((sum, y) => sum + (y - middle) ** 2, 0) / values.length) || 1;
    run = Object.assign(network(space(), n), { scale: [middle, spread], ys: values.map((y) => (y - middle) / spread) });
    frame();
  }
  run ??= start(chosen(), space(), knots);
  if (run.D) adam(run, POINTS, run.ys);
  else {
    project(run);
    knots = [...run.t];
  }
  if (run.over || (run.D && run.steps % ROUND === 0)) pause();
}
function tick() {
  if (!going) return;
  for (let i = 0; i < (calm.matches ? 100 : byAdam() ? 10 : 1) && going; i++) advance();
  if (!calm.matches || !going) show();
  if (calm.matches || !byAdam()) setTimeout(tick, calm.matches ? 0 : 120);
  else requestAnimationFrame(tick);
}
at("train").addEventListener("click", () => {
  going = !going;
  if (going) tick();
  else show();
});
at("step").addEventListener("click", () => {
  pause();
  for (let i = 0; i < (byAdam() ? 10 : 1); i++) advance();
  show();
});
at("by").addEventListener("input", evenly);

// A formula of one's own: refused in one line, and then the last one stays.
function read() {
  const mine = name === OWN;
  at("own").hidden = !mine;
  at("refused").textContent = "";
  if (!mine) return;
  try {
    own = target(at("f").value, at("from").value, at("to").value);
  } catch (error) {
    at("refused").textContent = error.message;
  }
}
for (const [id, change] of [
  ["target", (value) => { name = value; read(); }],
  ["unit", (value) => (unit = value)],
  ["n", (value) => (n = Number(value))],
  ...["f", "from", "to"].map((id) => [id, read]),
]) at(id).addEventListener("input", (event) => { change(event.target.value); evenly(); });
at("own").addEventListener("submit", (event) => event.preventDefault());
at("equal").addEventListener("click", evenly);
at("optimum").addEventListener("click", () => begin(best().t));

const offer = (id, names, words) => at(id).replaceChildren(...names.map((key) => new Option(words(key), key)));
offer("target", [...Object.keys(targets), OWN], (key) => key);
offer("unit", Object.keys(data.units), (key) => data.units[key].title);
const asked = new URLSearchParams(location.search);
for (const id of ["f", "from", "to"]) if (asked.has(id)) at(id).value = asked.get(id);
if (asked.get("target") in targets || asked.get("target") === OWN) name = asked.get("target");
if (Object.hasOwn(data.units, asked.get("unit"))) unit = asked.get("unit");
n = Math.min(Math.max(Math.round(Number(asked.get("n") ?? n)) || 6, 1), WIDEST);
at("target").value = name;
at("unit").value = unit;
at("n").value = n;
read();
const [a, b] = ends();
const placedBy = [a, ...(asked.get("knots") ?? "").split("_").filter(Boolean).map((share) => a + (b - a) * Number(share)), b];
let drawn = 0; // the width; a page that is opened without a choice begins when a reader asks for more
new ResizeObserver(() => {
  if (svg.clientWidth === drawn) return;
  if (drawn) frame();
  else begin(placedBy.length === n + 1 && placedBy.every((x, i) => !i || x > placedBy[i - 1]) ? placedBy : equal(ends(), n));
  drawn = svg.clientWidth;
  show();
}).observe(svg);
at("more").open = location.search.length > 1;
