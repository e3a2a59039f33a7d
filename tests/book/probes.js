// What the browser tests ask a page.
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });

window.probe = {
  all: (selector) => [...document.querySelectorAll(selector)],

  async ready() {
    await window.MathJax?.startup?.promise;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
  },

  async pictures() {
    const broken = [];
    for (const image of document.images) {
      image.loading = "eager";
      await image.decode().catch(() => broken.push(image.src));
    }
    return broken;
  },

  formulas: () => ({
    written: probe.all(".math").length,
    set: probe.all("mjx-container").length,
    failed: probe.all("mjx-merror").length,
    flat: probe.all(".bd-article mjx-container").filter((f) => f.offsetParent && f.offsetWidth < 3).length,
    stops: probe.all("mjx-container[tabindex='0'], span.math[tabindex='0']").filter((f) =>
      f.querySelector("mjx-math").getBoundingClientRect().width <= f.clientWidth + 1,
    ).length,
  }),

  weight() {
    const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    const bytes = (some) => some.reduce((sum, file) => sum + file.encodedBodySize, 0);
    return {
      requests: files.map((file) => new URL(file.name).pathname),
      bytes: bytes(files),
      blocking: bytes(files.filter((file) => file.renderBlockingStatus !== "non-blocking")),
    };
  },

  // What the window, or a box that does not scroll, cuts off, and captions that scroll out of sight.
  clipped: () =>
    probe.all(".bd-article :is(mjx-container, pre, table, img)").filter((element) => {
      const { width, right } = element.getBoundingClientRect();
      for (let e = element; width && e; e = e.parentElement) {
        const way = getComputedStyle(e).overflowX;
        if (/auto|scroll/.test(way)) return false;
        if (/hidden|clip/.test(way) && right > e.getBoundingClientRect().right + 1) return true;
      }
      return right > innerWidth + 1;
    }).concat(probe.all("caption").filter((caption) =>
      caption.getBoundingClientRect().right > caption.closest("div").getBoundingClientRect().right + 1,
    )).map((element) => element.outerHTML.slice(0, 60)),

  // Tables and code in sight that are wider than their boxes.
  cut: () =>
    probe.all(".bd-article :is(.pst-scrollable-table-container, .cell_output, pre)")
      .filter((box) => box.checkVisibility() && box.clientWidth && box.scrollWidth > box.clientWidth + 1)
      .map((box) => box.innerText.slice(0, 60)),

  // Lines that begin with the punctuation of the formula or link on the line above.
  orphans: () =>
    probe.all(".bd-article :is(mjx-container, a, code)").filter((element) => {
      const walker = document.createTreeWalker(element.closest("article"), NodeFilter.SHOW_TEXT);
      walker.currentNode = element;
      let next = element;
      while (next && !next.nextSibling && getComputedStyle(next).display.startsWith("inline")) next = next.parentElement;
      next = next?.nextSibling;
      if (next?.nodeType !== Node.TEXT_NODE || !/^[.,;:!?)\]]/.test(next.data)) return false;
      const range = document.createRange();
      range.setStart(next, 0);
      range.setEnd(next, 1);
      const sign = range.getBoundingClientRect();
      const last = [...element.getClientRects()].at(-1);
      return sign.width > 0 && last && sign.left < last.right - 2 && sign.top >= last.bottom - 2;
    }).map((element) => element.outerHTML.slice(0, 80)),

  // Listings are two thirds of a chapter: of their words the first in sight of each colour and ground stays, the others
  // become plain text; all are looked at before any is changed, as looking lays the page out again.
  thin() {
    const kept = new Set();
    const spare = probe.all("pre span").filter((word) => {
      const kind = [word.className, getComputedStyle(word.closest("pre")).backgroundColor].join();
      return !word.checkVisibility() || kept.has(kind) || !kept.add(kind);
    });
    for (const word of spare) word.replaceWith(...word.childNodes);
  },

  async axe(rules, part) {
    const checks = { "color-contrast": { options: { ignoreLength: true } } }; // single letters as well
    const found = await axe.run(part, { runOnly: rules, resultTypes: ["violations"], checks });
    return found.violations.flatMap((rule) => rule.nodes.map((node) => [rule.id, node.target.join(" "), node.failureSummary]));
  },

  // Controls that look the same with the focus as without.
  unfocused() {
    const look = (element) => {
      const style = getComputedStyle(element);
      return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderColor].join();
    };
    const stops = probe.all("a[href], button, input, summary, [tabindex='0']");
    return stops.filter((element) => {
      if (!element.checkVisibility({ visibilityProperty: true })) return false;
      document.activeElement.blur();
      const before = look(element);
      element.focus({ focusVisible: true });
      return document.activeElement === element && look(element) === before;
    }).map((element) => element.outerHTML.slice(0, 120));
  },
};
