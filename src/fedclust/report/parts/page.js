"use strict";
// Opens collapsed parts on paper, and closes them again.
(() => {
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => one.setAttribute("open", ""));
  });
  window.addEventListener("afterprint", () => folded.forEach((one) => one.removeAttribute("open")));
})();
