// Predict boxes.  The page holds a question, its answers and a fold with the explanation
// (book/_ext/predict_box.py); what would tell lies in folds of class predict-cover.  This turns
// the answers into buttons, says whether the choice was right, and opens the folds.
"use strict";

{
  const LETTERS = "abcde";

  class PredictBox {
    constructor(box) {
      this.label = box.id;
      this.fold = box.querySelector("details");
      this.status = element("span", { role: "status" });
      this.again = button("Choose again", () => this.chooseAgain());
      this.choice = null; // nothing is shown yet
      const items = [...box.querySelectorAll(".predict-answers > li")];
      this.right = items.findIndex((item) => item.classList.contains("predict-right"));
      this.buttons = items.map((item, number) => this.makeButton(item, number));
      this.covers = [...document.querySelectorAll(`[data-predict="${this.label}"]`)];
      for (const cover of this.covers) this.listenTo(cover);
      this.box = box;
      box.role = "group";
      box.setAttribute("aria-labelledby", `${this.label}-question`);
      box.classList.add("predict-live");
      this.fold.before(element("p", { class: "predict-verdict" }, this.status, " ", this.again));
      this.fold.addEventListener("toggle", () => this.fold.open && this.setOpen(true));
      progress.follow(() => this.show(progress.get("answers", this.label)));
    }

    makeButton(item, number) {
      const letter = element("span", {}, `(${LETTERS[number]}) `);
      const words = element("span", { class: "predict-words" });
      words.append(...(item.querySelector("p") ?? item).childNodes);
      const answer = button(letter, () => {
        if (answer.ariaDisabled !== "true") progress.set("answers", this.label, number);
      }, { class: "predict-answer" });
      answer.append(words, element("span", { class: "predict-mark" }));
      item.replaceChildren(answer);
      return answer;
    }

    // Opened by hand: the line that was pressed goes, so the focus goes to the result.  The event
    // "toggle" would be too late: in Firefox, what is not shown has lost the focus by then.
    listenTo(cover) {
      const [line, result] = cover.children;
      line.addEventListener("click", (event) => {
        event.preventDefault();
        cover.open = true;
        result.tabIndex = -1;
        result.focus();
      });
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
      this.setOpen(answered);
    }

    verdict() {
      const shown = this.covers.length ? " The result is shown below." : "";
      if (this.choice === this.right) return `Correct.${shown}`;
      return `Not quite: the answer is (${LETTERS[this.right]}).${shown}`;
    }

    setOpen(open) {
      for (const cover of this.covers) cover.open = open;
    }

    // A link to a figure must not lead to what is not shown.
    uncoverTarget() {
      const target = document.querySelector(":target");
      if (!target || !this.covers.some((cover) => cover.contains(target))) return;
      this.setOpen(true);
      target.scrollIntoView();
    }
  }

  const boxes = [...document.querySelectorAll("div.predict")].map((box) => new PredictBox(box));

  const uncoverTarget = () => boxes.forEach((box) => box.uncoverTarget());
  window.addEventListener("hashchange", uncoverTarget);
  uncoverTarget();
}
