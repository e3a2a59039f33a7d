// The theme takes the focus away from its buttons when they are used, and the keyboard loses its place.
addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".theme-switch-button, .search-button, .sidebar-toggle"))
    button.blur = () => {};
});

// What is wider than its place scrolls in its own box. Such a box is a tab stop, so that keys scroll it; no other is.
// Until its end is reached it fades out there, as nothing else says that it goes on.
const fade = (box) => box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
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
  const boxes = ".math mjx-container, span.math, pre, .cell_output, .pst-scrollable-table-container, .xs-graph-box";
  for (const box of document.querySelectorAll(boxes)) {
    scrolls.observe(box);
    box.addEventListener("scroll", () => fade(box), { passive: true });
  }
});
