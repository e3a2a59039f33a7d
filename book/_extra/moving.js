// Small figures of chapters. Their numbers are those of the package: a browser test holds them together.
"use strict";
const moving = (() => {
  const { placed, said, fitted, ticks, figure } = drawing;
  const grid = (a, b, n = 280) => Array.from({ length: n + 1 }, (_, i) => a + ((b - a) * i) / n);
  const upright = (x) => [[x, -9], [x, 9]];

  // A neuron adds its bend to the slope at its hinge, and twice its curve to the second derivative.
  const neurons = [[-1, 1.5, 0], [-0.5, -4, 0], [0, 4, 0], [0.5, -3, 0]];
  const neuron = ([hinge, bend, curve], x) => (x > hinge ? (x - hinge) * (bend + curve * (x - hinge)) : 0);
  const sum = (all, x) => all.reduce((total, one) => total + neuron(one, x), 0);
  let chosen = 1;
  function spline({ neuron: number, hinge, bend, curve }, set) {
    if (number === chosen) neurons[number - 1] = [hinge, bend, curve];
    else [hinge, bend, curve] = neurons[(chosen = number) - 1];
    set({ hinge, bend, curve });
    const xs = [...grid(-1, 1), ...neurons.map(([t]) => t)].sort((one, two) => one - two);
    const curveOf = (f) => xs.map((x) => [x, f(x)]);
    const pieces = new Set([-1, 1, ...neurons.filter(([, a, b]) => a || b).map(([t]) => t)]).size - 1;
    return {
      box: [-1, 1, -1.5, 1.5], across: ticks([-1, -0.5, 0, 0.5, 1]), up: ticks([-1, 0, 1]), names: ["x", "y"],
      lines: [
        ...neurons.flatMap((one, i) => [["rule", upright(one[0])], [i + 1 === number ? "trail" : "zero", curveOf((x) => neuron(one, x))]]),
        ["fit", curveOf((x) => sum(neurons, x))],
      ],
      words: `The sum has ${pieces} pieces, ${neurons.some(([, , b]) => b) ? "parabolas where neurons curve: a GLU" : "all straight: an MLP"}. Neuron ${number} is zero left of ${placed(hinge, 2)}.`,
    };
  }

  // GELU by a sum of positive terms, the series cut after so many even terms, and how far it stays within a tolerance.
  function gelu(z) {
    let term = Math.abs(z), all = 0;
    for (let n = 1; term > 1e-18 * all; n++) {
      all += term;
      term *= z ** 2 / (2 * n + 1);
    }
    return z / 2 + (Math.abs(z) * all * Math.exp(-(z ** 2) / 2)) / Math.sqrt(2 * Math.PI);
  }
  function series(z, terms) {
    let all = z / 2;
    for (let n = 0, power = z ** 2 / Math.sqrt(2 * Math.PI); n < terms; power *= -(z ** 2) / (2 * ++n)) all += power / (2 * n + 1);
    return all;
  }
  function reach(terms, tolerance) { // the error grows with |z|
    let [inside, outside] = [0, 12];
    for (let i = 0; i < 50; i++) {
      const z = (inside + outside) / 2;
      if (Math.abs(series(z, terms) - gelu(z)) < tolerance) inside = z;
      else outside = z;
    }
    return inside;
  }
  function leaving({ terms, digits }) {
    const far = reach(terms, 10 ** -digits);
    const curve = (f) => grid(-7, 7).map((z) => [z, f(z)]);
    return {
      box: [-7, 7, -3, 7.5], across: ticks([-6, -3, 0, 3, 6]), up: ticks([-2, 0, 2, 4, 6]), names: ["z", "GELU(z)"],
      lines: [["target", curve(gelu)], ["fit", curve((z) => series(z, terms))], ["hinges", upright(-far)], ["hinges", upright(far)]],
      words: `With ${terms} even terms the series is within ${10 ** -digits} of GELU for |z| up to ${placed(far, 2)}. At 7 it is off by ${said(Math.abs(series(7, terms) - gelu(7)))}.`,
    };
  }

  // The line through the logarithms of (n + kappa)^-k at every n of a window.
  const line = (order, kappa, from, to) => fitted(grid(from, to, to - from).map((n) => [Math.log10(n), -order * Math.log10(n + kappa)]));
  function offset({ order, kappa, from, to }) {
    const { slope, x, y } = line(order, kappa, from, to);
    const across = grid(0, 2.3);
    return {
      box: [0, 2.3, -2.4 * order, 1.3], across: [1, 3, 10, 30, 100].map((n) => [Math.log10(n), n]),
      up: ticks([0, 1, 2, 3, 4].map((i) => -Math.round((i * order) / 2)), "1e"), names: ["n", "error / C"],
      lines: [
        ["order", across.map((u) => [u, -order * u])],
        ["fit", across.map((u) => [u, -order * Math.log10(10 ** u + kappa)])],
        ["trail", [from, to].map(Math.log10).map((u) => [u, y + slope * (u - x)])],
      ],
      words: `A line through n = ${from} to ${to} has the slope ${placed(slope, 2)}, the order alone \u2212${order}. At ${to} the law has ${placed((-order * to) / (to + kappa), 2)}.`,
    };
  }

  for (const [name, make] of Object.entries({ spline, series: leaving, offset }))
    if (document.getElementById(`moving-${name}`)) figure(name, make);
  return { sum, gelu, series, reach, line };
})();
