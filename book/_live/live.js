// The Run button of a page of derivations. The same file is the page's script and the worker in which Python runs.
"use strict";

// Python in a worker: {index, source} comes in; {output} goes out, or {failure}.
async function work() {
  const here = new URL(".", location).href;
  const load = async (name) => {
    const response = await fetch(here + name);
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    return response.arrayBuffer();
  };
  // A module of a known type, whatever type the host gives to .mjs.
  const module = async (name) => import(URL.createObjectURL(new Blob([await load(name)], { type: "text/javascript" })));
  // Pyodide waits for ever where the host gives .wasm another type than browsers compile while it loads.
  const compile = WebAssembly.instantiateStreaming;
  WebAssembly.instantiateStreaming = async (asked, imports) => {
    const response = await asked;
    const known = response.headers.get("Content-Type") === "application/wasm";
    return known ? compile(response, imports) : WebAssembly.instantiate(await response.arrayBuffer(), imports);
  };
  const start = async () => {
    const [{ loadPyodide }, program, packages] = await Promise.all(
      [module("pyodide.mjs"), module("pyodide.asm.mjs"), load("packages.zip")]);
    const python = await loadPyodide({ indexURL: here, createPyodideModule: program.default });
    python.unpackArchive(packages, "zip", { extractDir: "/live" });
    return python.runPython(`
import json, sys
sys.path.append("/live")
import sympy
from xsquared.book.session import Session
session = Session()
lambda index, source: json.dumps(session.run(index, source))`);
  };
  const started = start();
  onmessage = async ({ data: { index, source } }) => {
    try {
      const run = await started;
      postMessage({ output: JSON.parse(run(index, source)) });
    } catch (error) {
      postMessage({ failure: String(error) });
    }
  };
}

function offer(script) {
  const committed = JSON.parse(document.getElementById("live-outputs").textContent);
  const cells = [...document.querySelectorAll("div.cell:not(.tag_remove-output)")].filter((cell) => cell.querySelector(".cell_input pre"));
  const inputs = cells.map((cell) => cell.querySelector(".cell_input pre"));
  const make = (kind, attributes, ...inside) => {
    const made = Object.assign(document.createElement(kind), attributes);
    made.append(...inside);
    return made;
  };
  const button = make("button", { type: "button", className: "btn btn-primary btn-sm" }, "Run this page");
  const status = make("span", { role: "status" }, "The cells run in your browser, and lines can be changed. The first click loads 18 MB from this site.");
  const bar = make("progress", { max: cells.length, hidden: true, ariaLabel: "Cells that have run" });
  document.querySelector(".bd-article h1").after(make("div", { className: "live-bar" }, button, bar, status));

  let worker = null, answered = null, latest = 0, turns = Promise.resolve();
  const ran = []; // the cells that have run, from the first on: as they were then
  const source = (k) => inputs[k].innerText.replace(/\n$/, "");
  const plain = ({ tex = "", text = "", error = "" }) => [tex, text, error].map((s) => s.replace(/\s+/g, " ").trim()).join("\n");

  function begin() {
    worker = new Worker(script, { type: "module" });
    worker.onmessage = ({ data }) => (data.failure ? fail(data.failure) : answered(data.output));
    worker.onerror = ({ message }) => fail(message);
    inputs.forEach((input, k) => {
      input.setAttribute("contenteditable", "plaintext-only"); // browsers that do not know it leave the cell as it is
      input.spellcheck = false;
      input.role = "textbox";
      input.ariaMultiLine = "true";
      input.ariaLabel = `Cell ${k + 1}`;
      input.addEventListener("keydown", (event) => {
        event.stopPropagation(); // the page takes "/" for its search
        if (event.key !== "Enter" || !(event.ctrlKey || event.shiftKey)) return;
        event.preventDefault();
        run();
      });
    });
  }
  function fail(message) {
    worker.terminate();
    button.disabled = bar.hidden = true;
    status.textContent = `Python does not run here: ${message}`;
  }

  async function show(k, output) {
    const same = plain(output) === plain(committed[k]), cell = cells[k];
    cell.dataset.live = same ? "same" : "differs";
    cell.querySelector(".live-output")?.remove();
    if (same) return;
    const box = make("div", { className: "live-output" }, make("p", {}, "Now, not as committed:"));
    const text = [output.text, output.error].filter(Boolean).join("\n");
    if (output.tex) {
      const tex = output.tex.replace(/^\$(\\displaystyle)?|\$$/g, "");
      box.append(make("div", { className: "math" }, await MathJax.tex2chtmlPromise(tex, { display: true })));
    }
    if (text || !output.tex) box.append(make("pre", {}, text || "no output"));
    cell.append(box);
    MathJax.startup.document.updateDocument(); // styles of letters that are new to the page
    dispatchEvent(new Event("resize")); // wide formulas are fitted
  }

  // Runs the first cell that was changed and all below it; all of them where none was.
  async function runCells(turn) {
    const began = performance.now();
    let first = ran.findIndex((text, k) => text !== source(k));
    if (first < 0) first = ran.length % cells.length;
    ran.length = first;
    for (const cell of cells.slice(first)) delete cell.dataset.live;
    status.textContent = worker ? `Cell ${first + 1} and those below run…` : "Python starts…";
    bar.hidden = false;
    bar.removeAttribute("value");
    if (!worker) begin();
    for (let k = first; k < cells.length; k++) {
      cells[k].dataset.live = "runs";
      ran[k] = source(k);
      const answer = new Promise((resolve) => { answered = resolve; });
      worker.postMessage({ index: k, source: ran[k] });
      await show(k, await answer);
      bar.value = k + 1;
      if (k === first) status.textContent = "Cells run…";
      if (turn !== latest) return;
    }
    bar.hidden = true;
    const differ = cells.filter((cell) => cell.dataset.live === "differs");
    const seconds = `${((performance.now() - began) / 1000).toFixed(0)} s`;
    const outputs = committed.filter((output) => plain(output).trim()).length;
    status.textContent = differ.length
      ? `${differ.length} of ${cells.length} cells not as committed (${seconds}). `
      : `All ${outputs} outputs as committed (${seconds}). Change a line, then press Shift+Enter or Run.`;
    if (differ.length) {
      differ[0].id ||= "live-first";
      status.append(make("a", { href: `#${differ[0].id}` }, "The first"));
    }
  }
  function run() { // what runs stops at its next cell
    const turn = ++latest;
    turns = turns.then(() => (turn === latest ? runCells(turn) : null));
  }
  button.addEventListener("click", run);
}

if (typeof document === "undefined") work();
else if (location.protocol !== "file:") offer(document.currentScript.src); // a page on a disk cannot load WebAssembly
