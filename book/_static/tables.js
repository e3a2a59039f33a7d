// Long tables are sorted by a button in each header: up, down, and back to the order of the page.
"use strict";
{
  // The first number of a cell, as it is printed or as TeX: 1,234; -2.5e-3; 1.2×10^-3; 10^{-6}; [0.1, 0.2]; ≤ 5.
  const number = (text) => {
    const plain = text
      .replace(/\u2212/g, "-")
      .replace(/\\(?:times|cdot)|·/g, "×")
      .replace(/\\[(),;!]|[{}$]|\s*(?=×)|(?<=×)\s*|(?<=\d)[,\s](?=\d{3}(?!\d))/g, "");
    const found = plain.match(/^[^\p{L}\p{N}-]*(-?)(\d+(?:\.\d+)?)(?:\^(-?\d+)|(?:e|×10\^)([+-]?\d+))?/u);
    if (!found) return NaN;
    const [, sign, digits, power = 1, ten = 0] = found;
    return (sign ? -1 : 1) * Number(digits) ** power * 10 ** ten;
  };
  // A header's formulas in words, as a set formula gives a button no name.
  const spoken = (text) => text.replace(/\\[()]|[{}]/g, "").replace(/\\geq?\b/g, "≥").replace(/\\leq?\b/g, "≤").replace(/\\(?=\w)/g, "");
  const words = new Intl.Collator("en", { numeric: true });

  const sort = (table, column, way, rows) => {
    const texts = new Map(rows.map((row) => [row, row.cells[column].dataset.text]));
    const told = rows.filter((row) => /[\p{L}\p{N}]/u.test(texts.get(row)));
    const numbers = new Map(rows.map((row) => [row, number(texts.get(row))]));
    const counts = told.every((row) => !Number.isNaN(numbers.get(row)));
    const order = (a, b) => (counts ? numbers.get(a) - numbers.get(b) : words.compare(texts.get(a), texts.get(b)));
    const sorted = way === "none" ? rows : told.sort((a, b) => (way === "ascending" ? order(a, b) : order(b, a)));
    // What says nothing comes last, whichever way.
    table.tBodies[0].append(...sorted, ...rows.filter((row) => !sorted.includes(row)));
  };

  for (const table of document.querySelectorAll("table.xs-sortable")) {
    const rows = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells].filter((head) => head.textContent.trim());
    // Read now: set formulas have no text.
    for (const row of rows) for (const cell of row.cells) cell.dataset.text = cell.textContent.trim();
    for (const head of heads) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "xs-sort";
      if (head.querySelector(".math")) button.ariaLabel = spoken(head.textContent.trim());
      const box = head.querySelector("p") ?? head;
      button.append(...box.childNodes);
      box.append(button);
      button.addEventListener("click", () => {
        const way = { ascending: "descending", descending: "none" }[head.ariaSort] ?? "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        if (way !== "none") head.ariaSort = way;
        sort(table, head.cellIndex, way, rows);
      });
    }
  }
}
