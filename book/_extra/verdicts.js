// Shows the claims that are asked for. The address keeps what was asked, so that a link can ask, too.
"use strict";
{
  const form = document.querySelector("#filter form");
  const claims = [...document.querySelectorAll("details.xs-verdict")];
  const holding = [...document.querySelectorAll("article section")].filter(
    (section) => section.querySelector("details.xs-verdict") && !section.contains(form),
  );

  const show = () => {
    const asked = [...new FormData(form).values()].filter(Boolean);
    const meets = (claim) =>
      asked.every((word) => [...claim.classList].some((kind) => kind === word || kind.startsWith(`${word}-`)));
    for (const claim of claims) claim.hidden = !meets(claim);
    for (const section of holding) section.hidden = !section.querySelector("details.xs-verdict:not([hidden])");
    const left = claims.filter((claim) => !claim.hidden).length;
    form.querySelector("output").textContent = asked.length ? `${left} of ${claims.length} claims` : `${left} claims`;
  };

  const keep = () => {
    show();
    const query = new URLSearchParams([...new FormData(form)].filter(([, word]) => word)).toString();
    history.replaceState(null, "", location.pathname + (query && `?${query}`) + location.hash);
  };

  // Who follows a link to a claim wants to see it, whatever was asked before.
  const reveal = () => {
    const place = document.getElementById(location.hash.slice(1));
    if (!place?.closest("[hidden]")) return;
    form.reset();
    show();
    place.closest("details")?.setAttribute("open", "");
    place.scrollIntoView();
  };

  for (const [name, word] of new URLSearchParams(location.search)) {
    const options = [...(form.elements[name]?.options ?? [])];
    if (options.some((option) => option.value === word)) form.elements[name].value = word;
  }
  show();
  form.addEventListener("input", keep);
  form.addEventListener("reset", () => setTimeout(keep)); // when it is done
  addEventListener("hashchange", reveal);
  addEventListener("load", reveal);

  // A browser leaves a node of a graph that has the focus where it is, if any of it is in sight.
  addEventListener("focusin", ({ target }) => {
    if (target.closest(".xs-graph")) target.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}
