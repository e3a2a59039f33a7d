// What the pictures that move share: parts of an SVG, numbers as pages print them, and axes.
"use strict";
const drawing = (() => {
  function draw(kind, attributes, parent, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  }
  const path = (points) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L");
  const minus = (text) => `${text}`.replace("-", "\u2212");
  const said = (error) => minus(error.toExponential(2).replace("e+", "e"));
  const placed = (x, digits = 3) => minus(x.toFixed(digits));

  // Empties a picture and draws its axes: a box [left, right, bottom, top], ticks with their texts, and names. Gives a point's
  // pixels, and what cuts off lines that leave the box.
  const ticks = (values, before = "") => values.map((value) => [value, minus(before + value)]);
  function axes(board, high, [a, b, low, top], across, up, [below, beside]) {
    const wide = (board.clientWidth || 340) - 74, tall = high - 52;
    const at = ([x, y]) => [((x - a) / (b - a)) * wide, ((top - y) / (top - low)) * tall];
    board.setAttribute("viewBox", `-62 -12 ${wide + 74} ${high}`);
    board.replaceChildren();
    const inside = draw("svg", { width: wide, height: tall }, board);
    for (const [y, text] of up) {
      draw("path", { class: "explore-grid", d: path([at([a, y]), at([b, y])]) }, board);
      draw("text", { x: -6, y: at([a, y])[1] + 4, "text-anchor": "end" }, board, text);
    }
    const middle = (attributes, text) => draw("text", { ...attributes, "text-anchor": "middle" }, board, text);
    for (const [x, text] of across) middle({ x: at([x, low])[0], y: tall + 18 }, text);
    middle({ x: wide / 2, y: tall + 36 }, below);
    middle({ transform: `translate(-50,${tall / 2})rotate(-90)` }, beside);
    board.append(inside);
    return { at, inside };
  }
  return { draw, path, said, placed, minus, ticks, axes };
})();
