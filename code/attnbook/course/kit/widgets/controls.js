// What all interactive figures do alike: wake up, find their parts, move their sliders.

// Begin: scripts run, as the image has loaded, so the controls are shown.  A picture that
// can move takes the image's place.  Returns the figure.
export const wake = (image) => {
  const figure = image.closest(".book-stepper");
  image.onload = null;
  image.hidden = parts(figure, "live").length > 0;
  [...parts(figure, "controls"), ...parts(figure, "live")].forEach(show);
  figure.querySelectorAll("[type=range]").forEach(wireButtons);
  return figure;
};

export const show = (element) => { element.hidden = false; };

// The buttons before and behind a slider move it by one.
const wireButtons = (slider) => {
  const step = (button, move) => button.addEventListener("click", () => {
    slider[move]();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  step(slider.previousElementSibling, "stepDown");
  step(slider.nextElementSibling, "stepUp");
};

// Say what the place of a slider means; at an end one of its buttons does nothing.
export const tell = (slider, text) => {
  const row = slider.parentElement.parentElement;
  slider.setAttribute("aria-valuetext", text);
  row.querySelector("output").textContent = text;
  row.querySelectorAll("button").forEach((button, end) => {
    const stop = slider.value === (end ? slider.max : slider.min);
    button.setAttribute("aria-disabled", stop);
    button.style.opacity = stop ? 0.4 : 1;
  });
};

// The parts of a figure by their class, without its "book-".
export const parts = (figure, name) => [...figure.querySelectorAll(`.book-${name}`)];
