// What a link to a formula, figure or table of the page leads to, shown beside the link while the pointer or the focus
// is on it. It stays while the pointer is on it, and Escape puts it away.
"use strict";
{
  const ROWS = 8, GAP = 6, EDGE = 16;
  const box = document.createElement("div");
  Object.assign(box, { id: "preview", className: "xs-preview", role: "tooltip", popover: "manual" });
  document.querySelector("article").append(box);
  let shown = null, timer = 0;

  const goal = (link) => {
    const place = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    return place?.matches("figure, table, div.math") ? place : null;
  };

  // The target once more, without places, controls and all but its first rows.
  const copied = (place) => {
    const copy = place.cloneNode(true);
    copy.querySelectorAll(".headerlink, details").forEach((idle) => idle.remove());
    copy.querySelectorAll("a, button").forEach((control) => control.replaceWith(...control.childNodes));
    for (const part of [copy, ...copy.querySelectorAll("*")])
      for (const name of ["id", "tabindex", "aria-sort", "loading"]) part.removeAttribute(name);
    const left = [...(copy.tBodies?.[0].rows ?? [])].slice(ROWS);
    left.forEach((row) => row.remove());
    const more = document.createElement("p");
    more.textContent = left.length ? `… and ${left.length} more rows.` : "";
    return left.length ? [copy, more] : [copy];
  };

  const hide = () => {
    clearTimeout(timer);
    if (!shown) return;
    shown.removeAttribute("aria-describedby");
    shown = null;
    box.hidePopover();
    box.replaceChildren();
  };

  const show = (link) => {
    hide();
    const place = goal(link);
    if (!place) return;
    box.replaceChildren(...copied(place));
    Object.assign(box.style, { left: 0, top: 0, maxHeight: "" });
    box.showPopover();
    const at = link.getClientRects()[0];
    const above = at.top - GAP - EDGE, below = innerHeight - at.bottom - GAP - EDGE;
    // Nothing scrolls in it: what is too large is made smaller, and once more where its lines then break elsewhere.
    const inside = box.firstChild.style;
    for (let zoom = 1, round = 0; round < 3; round++) {
      const fits = Math.min(1, box.clientWidth / box.scrollWidth, Math.max(above, below) / box.offsetHeight);
      inside.zoom = zoom = Math.max(0.5, zoom * fits);
    }
    const { width, height } = box.getBoundingClientRect();
    const under = height <= below || below >= above;
    const room = Math.min(height, under ? below : above);
    box.style.maxHeight = `${room}px`;
    box.style.left = `${Math.max(EDGE, Math.min(at.left, document.documentElement.clientWidth - width - EDGE)) + scrollX}px`;
    box.style.top = `${(under ? at.bottom + GAP : at.top - GAP - room) + scrollY}px`;
    link.setAttribute("aria-describedby", "preview");
    shown = link;
  };

  const later = (what, wait) => {
    clearTimeout(timer);
    timer = setTimeout(what, wait);
  };

  for (const link of document.querySelectorAll("article a.reference.internal[href^='#']")) {
    if (!goal(link)) continue;
    link.addEventListener("pointerenter", ({ pointerType }) => {
      if (pointerType === "mouse") shown === link ? clearTimeout(timer) : later(() => show(link), 150);
    });
    link.addEventListener("pointerleave", () => later(hide, 300));
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
    link.addEventListener("click", hide);
  }
  box.addEventListener("pointerenter", () => clearTimeout(timer));
  box.addEventListener("pointerleave", () => later(hide, 300));
  addEventListener("keydown", ({ key }) => key === "Escape" && hide());
}
