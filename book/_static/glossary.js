// The definition of a linked term beside the link: while the mouse is on the link or on
// the definition, while the keyboard is on the link, and after a tap.  Escape hides it; a
// second tap, like a click, opens the glossary.
"use strict";

{
  const DELAY = 250; // milliseconds: time to pass over a link, or to reach the note
  const GAP = 6; // pixels between link and note
  const note = element("div", { class: "glossary-note", id: "glossary-note", role: "tooltip", hidden: "" });
  let shown = null; // the link
  let timer = 0;
  let touched = false; // the last pointer was a finger

  const linkAt = (target) => target.closest?.('a[href*="glossary.html#term-"]');
  const later = (action) => {
    clearTimeout(timer);
    timer = setTimeout(action, DELAY);
  };

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    note.hidden = true;
  }

  function show(link) {
    const definition = document.getElementById(`note-${link.hash.slice(1)}`);
    if (!definition) return;
    hide();
    shown = link;
    note.replaceChildren(...definition.cloneNode(true).childNodes);
    note.hidden = false;
    link.setAttribute("aria-describedby", note.id);
    place(link.getClientRects()[0]);
  }

  // Below the link, or above it if the window ends there; never beyond its sides.
  function place(link) {
    const { clientWidth, clientHeight } = document.documentElement;
    const { width, height } = note.getBoundingClientRect();
    const left = Math.max(GAP, Math.min(link.left, clientWidth - width - GAP));
    const below = link.bottom + GAP;
    const top = below + height > clientHeight ? link.top - GAP - height : below;
    note.style.left = `${left + scrollX}px`;
    note.style.top = `${top + scrollY}px`;
  }

  document.body.append(note);
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType === "touch") return;
    const link = linkAt(target);
    if (note.contains(target) || (link && link === shown)) clearTimeout(timer);
    else if (link) later(() => show(link));
    else if (shown !== document.activeElement) later(hide);
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = linkAt(target);
    if (link?.matches(":focus-visible")) show(link);
  });
  document.addEventListener("focusout", ({ target }) => target === shown && hide());
  document.addEventListener("pointerdown", ({ target, pointerType }) => {
    touched = pointerType === "touch";
    if (shown && !note.contains(target) && linkAt(target) !== shown) hide();
  });
  document.addEventListener("click", (event) => {
    const link = linkAt(event.target);
    if (!link || !touched || link === shown || note.contains(link)) return;
    show(link);
    if (shown) event.preventDefault();
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
}
