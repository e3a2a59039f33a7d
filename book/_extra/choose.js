// The errors of every unit for the target, inputs and parameters that a reader chooses. The address
// keeps what was chosen, so that a link can choose, too.
"use strict";
{
  const root = document.getElementById("choose");
  const form = root.querySelector("form");
  const { titles, sizes, errors } = JSON.parse(document.getElementById("choose-data").textContent);
  const { target, inputs, size } = form.elements;
  const tiny = (value) => value.toExponential(1).replace(/e([+-])(\d)$/, "e$10$2");
  const short = (value) => (value < 1e-3 || value >= 1e4 ? tiny(value) : value < 100 ? value.toPrecision(2) : value.toFixed(0));

  // Radial targets are those of several inputs, and sizes go with the inputs.
  const offer = () => {
    inputs.options[0].disabled = target.value.endsWith("radial");
    if (inputs.selectedOptions[0].disabled) inputs.value = "2";
    const [offered, had] = [sizes[inputs.value], size.selectedIndex];
    size.replaceChildren(...offered.map((count) => new Option(count)));
    size.selectedIndex = had < 0 ? offered.length - 1 : had;
  };

  const show = () => {
    const found = errors[[target.value, inputs.value, size.value].join("/")];
    const mean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
    const means = Object.entries(found).map(([unit, values]) => [unit, mean(values), values]);
    const seeds = means[0][2].length;
    root.querySelector("caption").textContent =
      `Held-out errors as shares of the target's deviation: geometric mean, least and largest of ${seeds} seeds.`;
    root.querySelector("tbody").replaceChildren(
      ...means.sort((one, other) => one[1] - other[1]).map(([unit, error, values]) => {
        const row = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = titles[unit];
        row.append(head);
        for (const value of [error, Math.min(...values), Math.max(...values), error / mean(found.mlp)]) {
          const cell = row.insertCell();
          cell.className = "number";
          cell.textContent = short(value);
        }
        return row;
      }),
    );
  };

  const asked = new URLSearchParams(location.search);
  for (const control of [target, inputs, size]) {
    const wanted = [...control.options].find((option) => option.value === asked.get(control.name));
    if (wanted) control.value = wanted.value;
    if (control === inputs) {
      size.selectedIndex = -1;
      offer();
    }
  }
  show();
  form.addEventListener("input", () => {
    offer();
    show();
    history.replaceState(null, "", `?${new URLSearchParams(new FormData(form))}${location.hash}`);
  });
}
