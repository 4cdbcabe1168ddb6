// A slider over pictures: one is shown, the others are hidden.
export const start = (image) => {
  const figure = image.closest(".book-stepper");
  const slider = figure.querySelector("input");
  const [back, on] = figure.querySelectorAll("button");
  const frames = [...figure.querySelectorAll(".book-frame")];

  // At an end one of the buttons does nothing.
  const stop = (button, end) => {
    button.setAttribute("aria-disabled", slider.value === end);
    button.style.opacity = slider.value === end ? 0.4 : 1;
  };
  const show = () => {
    const at = slider.valueAsNumber;
    frames.forEach((frame, i) => { frame.hidden = i !== at; });
    const text = `${at + 1} of ${frames.length}`;
    slider.setAttribute("aria-valuetext", text);
    figure.querySelector("output").textContent = text;
    stop(back, slider.min);
    stop(on, slider.max);
  };
  slider.addEventListener("input", show);
  back.addEventListener("click", () => { slider.stepDown(); show(); });
  on.addEventListener("click", () => { slider.stepUp(); show(); });
  figure.querySelector(".book-controls").hidden = false;
};
