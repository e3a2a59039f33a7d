// One neuron, a ReLU gate times a line: its hinge and the line's ends are dragged, or moved by arrow keys.
"use strict";
const board = document.querySelector("svg");
const MOST = { hinge: 0.8, left: 1, right: 1 }; // how far each goes
const HIGH = 300;
const ONE = 98; // pixels
const ZERO = 190;
const state = { hinge: -0.4, left: -0.5, right: 0.9 };
const NAMES = { hinge: "hinge", left: "left end of the line", right: "right end of the line" };
let wide = 600;

const across = (x) => ((x + 1.08) / 2.16) * wide;
const up = (y) => ZERO - y * ONE;
const slope = () => (state.right - state.left) / 2;
const line = (x) => state.left + slope() * (x + 1);
const gate = (x) => Math.max(x - state.hinge, 0);
const place = { hinge: () => [state.hinge, 0], left: () => [-1, state.left], right: () => [1, state.right] };

function draw(kind, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return board.appendChild(made);
}
const xs = Array.from({ length: 201 }, (_, i) => -1 + i / 100);
const parts = { axis: () => 0, gate, line, both: (x) => gate(x) * line(x) };
const paths = {};
const handles = {};
for (const part of Object.keys(parts)) paths[part] = draw("path", { class: part });
const names = { gate: draw("text", { class: "name-gate", "text-anchor": "end" }, "gate"), line: draw("text", { class: "name-line" }, "line") };
for (const key of Object.keys(state)) {
  handles[key] = draw("circle", { r: 8, class: key === "hinge" ? "hinge" : "end", tabindex: 0, role: "slider" });
  handles[key].setAttribute("aria-label", NAMES[key]);
  handles[key].setAttribute("aria-valuemin", -MOST[key]);
  handles[key].setAttribute("aria-valuemax", MOST[key]);
}

function show() {
  wide = board.clientWidth || 600;
  board.setAttribute("viewBox", `0 0 ${wide} ${HIGH}`);
  for (const part of Object.keys(parts)) {
    paths[part].setAttribute("d", "M" + xs.map((x) => `${across(x).toFixed(1)},${up(parts[part](x)).toFixed(1)}`).join("L"));
  }
  for (const [key, handle] of Object.entries(handles)) {
    const [x, y] = place[key]();
    handle.setAttribute("cx", across(x));
    handle.setAttribute("cy", up(y));
    handle.setAttribute("aria-valuenow", state[key].toFixed(2));
  }
  const reach = Math.min(1, state.hinge + 1.1);
  names.gate.setAttribute("x", across(reach) - 12);
  names.gate.setAttribute("y", Math.max(up(gate(reach)), 18));
  names.line.setAttribute("x", across(-1) + 14);
  const beside = line(1) > line(-1) ? 20 : -10;    // of the dashed line
  names.line.setAttribute("y", Math.min(up(state.left) + beside, HIGH - 4));
  const digits = (value) => value.toFixed(2).replace("-", "−");
  const bend = slope();
  document.querySelector("output").textContent = `${digits(line(state.hinge))} r ${bend < 0 ? "−" : "+"} ${Math.abs(bend).toFixed(2)} r², where r is the gate’s value`;
}
function move(key, to) {
  state[key] = Math.min(Math.max(to, -MOST[key]), MOST[key]);
  show();
}

for (const [key, handle] of Object.entries(handles)) {
  handle.addEventListener("pointerdown", ({ pointerId }) => handle.setPointerCapture(pointerId));
  handle.addEventListener("pointermove", ({ clientX, clientY, pointerId }) => {
    if (!handle.hasPointerCapture(pointerId)) return;
    const { left, top } = board.getBoundingClientRect();
    move(key, key === "hinge" ? ((clientX - left) / wide) * 2.16 - 1.08 : (ZERO - clientY + top) / ONE);
  });
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 0.05, ArrowUp: 0.05, ArrowLeft: -0.05, ArrowDown: -0.05 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(key, state[key] + by);
  });
}
new ResizeObserver(show).observe(board);
try { // the theme of the page around it
  const page = parent.document.documentElement;
  const follow = () => (document.documentElement.dataset.theme = page.dataset.theme ?? "");
  if (parent !== window) new MutationObserver(follow).observe(page, { attributeFilter: ["data-theme"] }, follow());
} catch { /* another site's page: the reader's own choice */ }
new ResizeObserver(() => {
  if (frameElement) frameElement.style.height = `${document.body.scrollHeight + 4}px`;
}).observe(document.body);
