// Least-squares splines on knots that a reader moves. The same spaces, basis and quadrature as
// xsquared.splines.free_knots: a browser test holds the two together.
(() => {
  "use strict";
  const at = (id) => document.getElementById(id);
  const root = at("explore");
  if (!root) return;
  const data = JSON.parse(at("explore-data").textContent);

  // Local bases in powers of a cell's share xi: left knot's coefficients, the bubble, right knot's.
  const BASES = {
    1: [[1, -1], [0, 1]],
    2: [[1, -1, 0], [0, 4, -4], [0, 1, 0]],
    3: [[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]],
  };
  const LEAST_NODES = 240;
  const EXTRA_NODES = 6;

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

  // The spline of least integral of the squared error: banded normal equations in the local basis, by Cholesky.
  function fit(value, degree, t) {
    const basis = BASES[degree];
    const size = basis.length;
    const shared = degree === 3 ? 2 : 1;
    const block = size - shared;
    const n = t.length - 1;
    const total = n * block + shared;
    const count = Math.max(degree + EXTRA_NODES, Math.ceil(LEAST_NODES / n));
    const [nodes, weights] = rule(count);
    const gram = basis.map((p) => basis.map((q) =>
      p.reduce((sum, a, i) => sum + q.reduce((s, b, j) => s + (a * b) / (1 + i + j), 0), 0)));
    const band = Array.from({ length: total }, () => new Float64Array(size)); // [row][row - column]
    const right = new Float64Array(total);
    const values = [];
    const scales = [];
    for (let k = 0; k < n; k++) {
      const h = t[k + 1] - t[k];
      const scale = basis.map((_, i) => (degree === 3 && i % 2 ? h : 1));
      const f = Array.from(nodes, (xi) => value(t[k] + xi * h));
      values.push(f);
      scales.push(scale);
      for (let i = 0; i < size; i++) {
        let moment = 0;
        for (let q = 0; q < count; q++) moment += weights[q] * f[q] * horner(basis[i], nodes[q]);
        right[k * block + i] += h * scale[i] * moment;
        for (let j = 0; j <= i; j++) band[k * block + i][i - j] += h * scale[i] * scale[j] * gram[i][j];
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
    const cells = [];
    let square = 0;
    for (let k = 0; k < n; k++) {
      const piece = basis[0].map((_, p) =>
        basis.reduce((sum, row, i) => sum + right[k * block + i] * scales[k][i] * row[p], 0));
      let own = 0;
      for (let q = 0; q < count; q++) own += weights[q] * (horner(piece, nodes[q]) - values[k][q]) ** 2;
      pieces.push(piece);
      cells.push(own * (t[k + 1] - t[k]));
      square += cells[k];
    }
    return { pieces, cells, rmse: Math.sqrt(square / (t[n] - t[0])) };
  }

  const targets = {};
  for (const [name, made] of Object.entries(data.targets))
    targets[name] = { domain: made.domain, value: new Function("x", `return ${made.value};`) };
  window.explore = { data, targets, fit }; // for the test

  // What is shown: the choice, and the knots with the interval's ends.
  let [name, unit, n] = data.first;
  let knots = [];
  let now = null;
  const chosen = () => data.splines[name][unit];
  const best = () => chosen().optima[n - 1];
  const ends = () => targets[name].domain;
  const equal = () => Array.from({ length: n + 1 }, (_, i) => ends()[0] + ((ends()[1] - ends()[0]) * i) / n);
  const optimal = () => {
    const [a, b] = ends();
    return [a, ...best()[1].map((place) => a + (b - a) * data.step * place), b];
  };

  const said = (error) => error.toExponential(2).replace("e-", "e\u2212").replace("e+", "e");
  const placed = (x) => x.toFixed(3).replace("-", "\u2212");
  const NS = "http://www.w3.org/2000/svg";
  function draw(kind, attributes, parent, text) {
    const made = document.createElementNS(NS, kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  }
  const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");

  // The left picture: target, fit and knots above, the error below. Pixels are CSS pixels at every width.
  const HIGH = { fit: 230, gap: 40, error: 90, law: 360 };
  const svg = at("explore-fit");
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
    for (const id of ["lines", "target", "fit", "zero", "error", "texts"])
      draw(/lines|texts/.test(id) ? "g" : "path", { class: `explore-${id}` }, still);
    for (let i = 1; i < n; i++) {
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
    return [knots[i - 1] + gap, knots[i + 1] - gap];
  };
  function move(i, x) {
    const [low, high] = room(i);
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

  function sampled(f) {
    const points = [];
    for (let k = 0; k < n; k++)
      for (let s = 0, m = Math.max(6, Math.ceil(240 / n)); s <= m; s++) {
        const x = knots[k] + ((knots[k + 1] - knots[k]) * s) / m;
        points.push([x, f(x, k, s / m)]);
      }
    return points;
  }

  function drawFit() {
    const part = (id) => svg.querySelector(`.explore-${id}`);
    const { value } = targets[name];
    const truth = sampled((x) => value(x));
    const made = sampled((x, k, xi) => horner(now.pieces[k], xi));
    const error = made.map(([x, y], i) => [x, y - truth[i][1]]);
    const ys = truth.map(([, y]) => y);
    const low = Math.min(...ys), high = Math.max(...ys);
    const up = (y) => HIGH.fit - 28 - ((y - low) / (high - low)) * (HIGH.fit - 44);
    const most = Math.max(...error.map(([, y]) => Math.abs(y))) || 1;
    const middle = HIGH.fit + HIGH.gap + HIGH.error / 2;
    const curve = (points, height) => path(points.map(([x, y]) => [across(x), height(y)]));
    part("target").setAttribute("d", curve(truth, up));
    part("fit").setAttribute("d", curve(made, up));
    part("error").setAttribute("d", curve(error, (y) => middle - (y / most) * (HIGH.error / 2)));
    part("zero").setAttribute("d", path([[across(ends()[0]), middle], [across(ends()[1]), middle]]));
    const texts = part("texts");
    texts.replaceChildren();
    const label = (x, y, text, anchor) => draw("text", { x, y, "text-anchor": anchor }, texts, text);
    for (const y of [low, high]) label(36, up(y) + 4, y.toFixed(1), "end");
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

  // The right picture: errors of the optima against neurons, the order's line, and the point of these knots.
  function drawLaw() {
    const board = at("explore-law");
    const width = board.clientWidth || 300;
    board.setAttribute("viewBox", `0 0 ${width} ${HIGH.law}`);
    board.replaceChildren();
    const { optima, law: [order, constant] } = chosen();
    const errors = optima.map(([error]) => error);
    const decade = (error) => Math.log10(error);
    const top = Math.ceil(decade(Math.max(...errors, now.rmse)));
    const bottom = Math.floor(decade(Math.min(...errors)));
    const left = 44, right = width - 12, under = HIGH.law - 40;
    const x = (m) => left + (Math.log(m) / Math.log(optima.length)) * (right - left);
    const y = (error) => 12 + ((top - decade(error)) / (top - bottom)) * (under - 12);
    for (let e = bottom; e <= top; e++) {
      draw("path", { class: "explore-grid", d: path([[left, y(10 ** e)], [right, y(10 ** e)]]) }, board);
      draw("text", { x: left - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, board, `1e${e}`.replace("-", "\u2212"));
    }
    for (const m of [1, 2, 5, 10, 20, 50]) draw("text", { x: x(m), y: under + 18, "text-anchor": "middle" }, board, m);
    draw("text", { x: (left + right) / 2, y: HIGH.law - 4, "text-anchor": "middle" }, board, "neurons");
    const line = [1, optima.length].map((m) => [m, constant * m ** -order]);
    const first = Math.max(1, (constant / 10 ** top) ** (1 / order));
    line[0] = [first, constant * first ** -order];
    draw("path", { class: "explore-order", d: path(line.map(([m, error]) => [x(m), y(error)])) }, board);
    for (const [i, error] of errors.entries()) draw("circle", { class: "explore-best", cx: x(i + 1), cy: y(error), r: 2.2 }, board);
    const place = [x(n), y(now.rmse)];
    draw("path", { class: "explore-here", d: `M${place[0]},${place[1] - 7}l7,7l-7,7l-7,-7z` }, board);
    board.setAttribute("aria-label", `Errors of the optimum at 1 to ${optima.length} neurons, falling to ` +
      `${said(errors.at(-1))}; the line of order ${order}; these knots at ${n} neurons and ${said(now.rmse)}.`);
  }

  let late = 0;
  function show() {
    now = fit(targets[name].value, data.units[unit], knots);
    drawFit();
    drawLaw();
    const answer = optimal();
    const far = Math.max(...knots.map((x, i) => Math.abs(x - answer[i])));
    const over = now.rmse / best()[0];
    const [order, constant] = chosen().law;
    const rows = { here: said(now.rmse), best: said(best()[0]), over: over.toFixed(3), far: placed(far), line: said(constant * n ** -order) };
    for (const id in rows) at(`explore-${id}`).textContent = rows[id];
    at("explore-knots").replaceChildren(...knots.slice(1).map((x, i) => {
      const row = document.createElement("tr");
      const cells = [`${i + 1}`, placed(knots[i]), placed(x), placed(answer[i + 1]), said(Math.sqrt(now.cells[i] / (x - knots[i])))];
      cells.forEach((text, j) => {
        const cell = row.appendChild(document.createElement(j ? "td" : "th"));
        cell.textContent = text;
        if (!j) cell.scope = "row";
      });
      return row;
    }));
    clearTimeout(late);
    late = setTimeout(() => {
      at("explore-live").textContent = `${n} neurons: error ${said(now.rmse)}, ${over.toFixed(2)} times that of the optimum.`;
    }, 300);
  }

  function begin(places) {
    knots = places();
    at("explore-count").textContent = n;
    frame();
    show();
  }
  for (const [id, change] of [
    ["explore-target", (value) => (name = value)],
    ["explore-unit", (value) => (unit = value)],
    ["explore-n", (value) => (n = Number(value))],
  ]) at(id).addEventListener("input", (event) => { change(event.target.value); begin(equal); });
  at("explore-equal").addEventListener("click", () => begin(equal));
  at("explore-optimum").addEventListener("click", () => begin(optimal));
  const offer = (id, names, words) => at(id).replaceChildren(...names.map((key) => new Option(words(key), key)));
  offer("explore-target", Object.keys(targets), (key) => key);
  offer("explore-unit", Object.keys(data.units), (key) => `${key.toUpperCase()}, degree ${data.units[key]}`);
  at("explore-target").value = name;
  at("explore-unit").value = unit;
  at("explore-n").value = n;
  begin(equal);
  let drawn = svg.clientWidth;
  new ResizeObserver(() => {
    if (svg.clientWidth === drawn) return;
    drawn = svg.clientWidth;
    frame();
    show();
  }).observe(svg);
})();
