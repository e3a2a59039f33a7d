// The theme takes the focus away from its buttons when they are used, and the keyboard loses its place.
addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".theme-switch-button, .search-button, .sidebar-toggle"))
    button.blur = () => {};
});

// What is wider than its place scrolls in its own box. Such a box is a tab stop, so that keys scroll it; no other is.
const scrolls = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const wide = target.scrollWidth > target.clientWidth + 1;
    target.classList.toggle("scrolls", wide);
    if (wide) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  const boxes = ".math mjx-container, span.math, pre, .cell_output, .pst-scrollable-table-container";
  document.querySelectorAll(boxes).forEach((box) => scrolls.observe(box));
});
