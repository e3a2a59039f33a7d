// The theme takes the focus away from its buttons when they are used, and the keyboard loses its place.
addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".theme-switch-button, .search-button, .sidebar-toggle"))
    button.blur = () => {};
});

// What is wider than the page scrolls in its own box. Such a box is a tab stop, so that keys scroll it; no other is.
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  const boxes = document.querySelectorAll(".math mjx-container, span.math, pre, .cell_output, .pst-scrollable-table-container");
  const reach = () => {
    for (const box of boxes) {
      const wide = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("scrolls", wide);
      if (wide) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reach);
  reach();
});
