// The theme takes the focus away from its buttons when they are used, and the keyboard loses its place.
addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".theme-switch-button, .search-button, .sidebar-toggle"))
    button.blur = () => {};
});

// Who follows a link to a cell wants to see its code.
addEventListener("click", ({ target }) => {
  const link = target.closest("a[href^='#cell-']");
  link && document.querySelector(`${link.hash} details.hide`)?.setAttribute("open", "");
});

// What is wider than its place scrolls in its own box. Such a box is a tab stop, so that keys scroll it; no other is.
// Until its end is reached it fades out there, as nothing else says that it goes on; but no formula in a sentence does.
const fade = (box) => {
  const left = box.scrollWidth - box.scrollLeft - box.clientWidth;
  box.classList.toggle("goes-on", left > 1 && !box.matches("span.math"));
};
const scrolls = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const wide = target.scrollWidth > target.clientWidth + 1;
    if (wide && !target.matches(".xs-graph-box")) target.tabIndex = 0; // a graph's nodes are stops themselves
    else target.removeAttribute("tabindex");
    fade(target);
  }
});
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  await document.fonts.ready; // before, formulas have other widths
  const boxes = "div.math mjx-container, span.math, pre, .cell_output, .pst-scrollable-table-container, .xs-graph-box";
  for (const box of document.querySelectorAll(boxes)) {
    scrolls.observe(box);
    box.addEventListener("scroll", () => fade(box), { passive: true });
  }
});
