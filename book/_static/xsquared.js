{
  // On a page narrower than phones' a displayed formula is set smaller before it has to scroll.
  const fit = () => {
    for (const box of document.querySelectorAll("div.math mjx-container")) {
      box.style.fontSize = "";
      const share = box.parentElement.clientWidth / box.scrollWidth;
      if (share < 1) box.style.fontSize = `${100 * Math.max(share, 0.75)}%`;
    }
  };
  // What scrolls in its own box is a tab stop, so that keys scroll it.
  const stops = () => {
    for (const box of document.querySelectorAll("div.math mjx-container, span.math, pre, .cell_output, .pst-scrollable-table-container")) {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  // The theme's folds of the contents have no name, its works a role that is deprecated;
  // folds of code say what they hold, and myst-nb names them all alike.
  const name = () => {
    for (const fold of document.querySelectorAll("details.hide > summary")) fold.removeAttribute("aria-label");
    for (const fold of document.querySelectorAll("nav details > summary")) fold.setAttribute("aria-label", "Pages below");
    for (const work of document.querySelectorAll('[role="doc-biblioentry"]')) work.setAttribute("role", "listitem");
  };
  addEventListener("load", async () => {
    name();
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
    fit();
    stops();
    addEventListener("resize", () => { fit(); stops(); });
  });
}
