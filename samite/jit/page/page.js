// Elements with a Func's number in data-f light up with that Func. The browser itself folds and unfolds.
(() => {
  "use strict";
  const of = (element) => (element.dataset.f || "").split(" ").filter((f) => f !== "");
  const parts = [...document.querySelectorAll("[data-f]")];
  const buttons = [...document.querySelectorAll(".funcs button")];
  let chosen = null;

  // Unfolds and scrolls a panel so that its first lit part shows, without moving the page.
  function show(panel) {
    const first = panel.querySelector(".lit");
    if (!first) return;
    for (let fold = first; fold && fold !== panel; fold = fold.parentElement)
      if (fold.tagName === "DETAILS" && fold !== first) fold.open = true;
    for (const box of [first.closest("pre"), first.closest(".body")]) {
      if (!box || box.scrollHeight <= box.clientHeight) continue;
      const from = box.getBoundingClientRect(), at = first.getBoundingClientRect();
      if (at.top < from.top || at.bottom > from.bottom) box.scrollTop += at.top - from.top - from.height / 4;
    }
  }

  function choose(f) {
    chosen = f === chosen ? null : f;
    for (const part of parts) part.classList.toggle("lit", chosen !== null && of(part).includes(chosen));
    for (const button of buttons) {
      button.classList.remove("lit");
      button.setAttribute("aria-pressed", String(button.dataset.f === chosen));
    }
    document.body.dataset.chosen = chosen === null ? "" : chosen;
    if (chosen !== null) document.querySelectorAll(".panel").forEach(show);
  }

  document.addEventListener("click", (event) => {
    const chooser = event.target.closest("[data-choose]");
    if (!chooser) return;
    event.preventDefault();
    choose(chooser.dataset.choose);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen !== null) choose(chosen);
  });
})();
