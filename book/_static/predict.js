// Predict boxes.  The page holds a question, its answers and a fold with the explanation
// (book/_ext/predict.py).  This turns the answers into buttons, says whether the choice was
// right, and until then covers what would tell: the outputs of the cells tagged "reveal"
// that follow, and the paragraph behind each, which speaks of the output.
"use strict";

{
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const LETTERS = "abcde";

  // What the address points at; after a lone "%" it cannot be decoded.
  function targetId() {
    const id = location.hash.slice(1);
    try {
      return decodeURIComponent(id);
    } catch {
      return id;
    }
  }

  class PredictBox {
    constructor(box, cells) {
      this.label = box.id;
      this.fold = box.querySelector("details");
      this.status = make("span", { role: "status" });
      this.again = make("button", { type: "button", textContent: "Choose again" });
      this.choice = null; // nothing is shown yet
      const items = [...box.querySelectorAll(".predict-answers > li")];
      this.right = items.findIndex((item) => item.classList.contains("predict-right"));
      this.buttons = items.map((item, number) => this.makeButton(item, number));
      this.covers = [];
      this.results = cells.flatMap((cell) => this.resultsOf(cell));
      this.box = box;
      box.role = "group";
      box.setAttribute("aria-labelledby", `${this.label}-question`);
      box.classList.add("predict-live");
      const verdict = make("p", { className: "predict-verdict" });
      verdict.append(this.status, " ", this.again);
      this.fold.before(verdict);
      this.again.addEventListener("click", () => this.chooseAgain());
      this.fold.addEventListener("toggle", () => this.fold.open && this.uncover());
      progress.follow(() => this.show(progress.get("answers", this.label)));
    }

    makeButton(item, number) {
      const button = make("button", { type: "button", className: "predict-answer" });
      const letter = make("span", { textContent: `(${LETTERS[number]}) ` });
      const words = make("span", { className: "predict-words" });
      words.append(...(item.querySelector("p") ?? item).childNodes);
      button.append(letter, words, make("span", { className: "predict-mark" }));
      item.replaceChildren(button);
      button.addEventListener("click", () => {
        if (button.ariaDisabled !== "true") progress.set("answers", this.label, number);
      });
      return button;
    }

    resultsOf(cell) {
      const output = cell.querySelector(".cell_output");
      this.covers.push(this.makeCover(output));
      const comment = cell.nextElementSibling;
      return comment?.matches("p") ? [output, comment] : [output];
    }

    makeCover(output) {
      const cover = make("div", { className: "predict-cover" });
      const words = "The result is shown when you have made your prediction above.";
      const button = make("button", { type: "button", textContent: "Show anyway" });
      cover.append(make("p", { textContent: words }), button);
      output.before(cover);
      button.addEventListener("click", () => {
        this.uncover();
        output.tabIndex = -1;
        output.focus(); // the button is gone
      });
      return cover;
    }

    chooseAgain() {
      progress.set("answers", this.label);
      this.buttons[0].focus(); // the button is gone
    }

    show(choice) {
      if (choice === this.choice) return;
      this.choice = choice;
      const answered = Number.isInteger(choice) && choice in this.buttons;
      this.buttons.forEach((button, number) => {
        const words = [number === choice && "your prediction", number === this.right && "correct"];
        button.querySelector(".predict-mark").textContent =
          answered ? words.filter(Boolean).join(", ") : "";
        button.ariaDisabled = String(answered);
        button.classList.toggle("predict-chosen", answered && number === choice);
        button.classList.toggle("predict-correct", answered && number === this.right);
      });
      this.box.classList.toggle("predict-answered", answered);
      this.status.textContent = answered ? this.verdict() : "";
      this.again.hidden = !answered;
      this.fold.open = answered;
      if (answered) this.uncover();
      else this.setCovered(true);
    }

    verdict() {
      const shown = this.results.length ? " The result is shown below." : "";
      if (this.choice === this.right) return `Correct.${shown}`;
      return `Not quite: the answer is (${LETTERS[this.right]}).${shown}`;
    }

    setCovered(covered) {
      for (const result of this.results) result.classList.toggle("predict-covered", covered);
      for (const cover of this.covers) cover.hidden = !covered;
    }

    uncover() {
      this.setCovered(false);
      window.dispatchEvent(new Event("resize")); // book.js measures what it could not see
    }

    // A link to a figure must not lead to what is not shown.
    uncoverTarget() {
      const target = document.getElementById(targetId());
      if (!target || !this.results.some((result) => result.contains(target))) return;
      this.uncover();
      target.scrollIntoView();
    }
  }

  // A cell belongs to the last box before it.
  const cells = new Map();
  for (const element of document.querySelectorAll("div.predict, .tag_reveal:has(.cell_output)")) {
    if (element.matches("div.predict")) cells.set(element, []);
    else [...cells.values()].at(-1)?.push(element);
  }
  const boxes = [...cells].map(([box, after]) => new PredictBox(box, after));

  const uncoverTarget = () => boxes.forEach((box) => box.uncoverTarget());
  window.addEventListener("hashchange", uncoverTarget);
  uncoverTarget();

  // On paper nothing can be opened.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = boxes.map(({ fold }) => fold).filter((fold) => !fold.open);
    closed.forEach((fold) => fold.setAttribute("open", ""));
  });
  window.addEventListener("afterprint", () => closed.forEach((fold) => { fold.open = false; }));
}
