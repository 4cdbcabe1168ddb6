// On paper the page is light and nothing is folded; afterwards all is as it was.  Without
// scripts the page is light anyway, and print.css opens the folds.
"use strict";

{
  const root = document.documentElement;
  let theme;
  let shut = [];

  window.addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    shut = [...document.querySelectorAll("article details:not([open])")];
    shut.forEach((fold) => (fold.open = true));
  });
  window.addEventListener("afterprint", () => {
    root.dataset.theme = theme;
    shut.forEach((fold) => (fold.open = false));
  });
}
