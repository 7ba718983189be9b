"use strict";
// Opens collapsed parts on paper, and closes them again. A table that fits needs no hint to scroll.
(() => {
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => one.setAttribute("open", ""));
  });
  window.addEventListener("afterprint", () => folded.forEach((one) => one.removeAttribute("open")));
  const hint = () => document.querySelectorAll(".hint").forEach((one) => {
    const table = one.nextElementSibling;
    one.hidden = table.clientWidth > 0 && table.scrollWidth <= table.clientWidth + 2;
  });
  window.addEventListener("resize", hint);
  document.addEventListener("toggle", hint, true);
  hint();
})();
