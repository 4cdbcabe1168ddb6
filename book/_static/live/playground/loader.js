// The playground, part 3: what a page loads at once.  A figure of class train-here holds a
// question and stored runs, made by book/_ext/live.py; a click on its button loads the
// engine and the view, and trains; in free play it opens the choices, as does an address.
"use strict";

{
  const FOLDER = document.currentScript.src.replace(/[^/]*$/, "");
  async function open(figure) {
    const button = figure.querySelector(".play-open button");
    const alert = figure.querySelector(".play-alert");
    if (button.disabled) return;
    button.disabled = true;
    alert.textContent = "";
    try {
      const files = ["../charts.js", "data.js", "engine.js", "view.js"];
      const { version } = figure.dataset;
      await Promise.all(files.map((file) => loadScript(`${FOLDER}${file}?v=${version}`)));
      figure.playground = new globalThis.playground.Figure(figure);
      if (figure.playground.preset) figure.playground.start();
    } catch (problem) {
      button.disabled = false;
      alert.textContent = `The models could not be started: ${problem.message}.`;
    }
  }

  for (const figure of document.querySelectorAll("figure.train-here")) {
    const line = figure.querySelector(".play-open");
    line.hidden = false;
    line.querySelector("button").addEventListener("click", () => open(figure));
    keepAnswer(figure);
    if (figure.dataset.preset === "free") {
      openAsAddressed(figure);
      // From an experiment of the same page, a link changes the address alone.
      addEventListener("hashchange", () => openAsAddressed(figure));
    }
  }

  // As a predict box does.
  function keepAnswer(figure) {
    const answers = [...figure.querySelectorAll(".play-answers input")];
    answers.forEach((answer, i) => {
      answer.addEventListener("change", () => progress.set("answers", figure.id, i));
    });
    progress.follow(() => {
      const kept = progress.get("answers", figure.id);
      answers.forEach((answer, i) => (answer.checked = i === kept));
    });
  }

  function openAsAddressed(figure) {
    if (!/^#free(&|$)/.test(location.hash)) return;
    if (figure.playground) location.reload();
    else open(figure);
  }
}
