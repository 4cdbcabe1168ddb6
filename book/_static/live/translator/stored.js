// The translator in the page, part 6: the stored example of the light form.  It moves, word
// by word, until the reader touches the figure, and can be shown without attention.  What
// belongs to a step says so in data-step: German words, the right column, its lines.
"use strict";

{
  const STEP = 550; // ms from token to token
  const REST = 7; // steps that the whole translation stays
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  live.Stored = class {
    constructor(figure) {
      this.figure = figure;
      this.german = figure.querySelector(".tr-german");
      this.withAttention = [...this.german.childNodes];
      const template = figure.querySelector(".tr-without").content.firstElementChild;
      this.without = [...template.childNodes];
      this.button = element("button", { type: "button" }, "▶ Play");
      this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
      if (calm.matches) return;
      this.watch = new IntersectionObserver(([{ isIntersecting }]) => {
        if (isIntersecting) this.play();
        else this.stop();
      });
      this.watch.observe(this.german);
      calm.addEventListener("change", () => this.rest());
      for (const touch of ["pointerdown", "focusin"]) {
        figure.addEventListener(touch, ({ target }) => this.rest(target), { once: true });
      }
    }

    // Stand still from now on; the button itself says what it does.
    rest(target) {
      this.watch?.disconnect();
      if (target !== this.button) this.stop();
    }

    // Forget the example: the reader's own sentence takes its place.
    end() {
      this.rest();
      this.button.remove();
    }

    show(withAttention) {
      this.stop();
      this.german.replaceChildren(...(withAttention ? this.withAttention : this.without));
      if (!calm.matches) this.play();
    }

    play() {
      this.stop();
      this.button.textContent = "❚❚ Pause";
      const parts = [...this.figure.querySelectorAll("[data-step]")];
      const last = Math.max(...[...this.german.children].map((word) => word.dataset.step)) + 1;
      let at = -1;
      const step = () => {
        at = at === last + REST ? 0 : at + 1;
        for (const part of parts) {
          part.classList.toggle("tr-later", part.dataset.step >= at && at <= last);
          part.classList.toggle("tr-now", part.dataset.step === `${at - 1}`);
        }
      };
      step();
      this.timer = setInterval(step, STEP);
    }

    // Show all of it.
    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.button.textContent = "▶ Play";
      for (const part of this.figure.querySelectorAll("[data-step]")) {
        part.classList.remove("tr-later", "tr-now");
      }
    }
  };
}
