// What ipywidgets leave out: sliders get a name for screen readers, JupyterLab leaves the
// keys to the control that has the focus, and the result is read out when it changes.
const HANDLES = ".noUi-handle, .ui-slider-handle";
const CONTROLS = `${HANDLES}, input, select`;
const FRAMES = 600;

// The handle and the number next to it, which can be typed over, stand in one row with
// their label.
const nameSlider = (handle) => {
  const row = handle.closest(".widget-hslider, .widget-slider");
  const text = row.querySelector(".widget-label").textContent;
  const readout = row.querySelector(".widget-readout");
  handle.setAttribute("role", "slider");
  handle.setAttribute("aria-label", text);
  // A number, so with a hyphen where the readout has a minus.
  handle.setAttribute("aria-valuenow", readout.textContent.replace("\u2212", "-"));
  handle.setAttribute("aria-valuetext", readout.textContent);
  readout.setAttribute("role", "textbox");
  readout.setAttribute("aria-label", `${text}, as a number`);
};

// The buttons of a film have icons and no names.
const NAMES = { play: "Play", pause: "Pause", stop: "Stop", retweet: "Repeat" };
const nameButton = (button) => {
  const [, icon] = /fa-(\w+)/.exec(button.firstElementChild.className);
  button.setAttribute("aria-label", NAMES[icon]);
};

const wire = (box) => {
  box.querySelectorAll(".widget-play button").forEach(nameButton);
  box.querySelectorAll(HANDLES).forEach(nameSlider);
  box.querySelectorAll(`${CONTROLS}, [contenteditable]`).forEach((control) => {
    control.setAttribute("data-lm-suppress-shortcuts", "true");
  });
  box.querySelector(".book-said").setAttribute("role", "status");
};

// `given.controls` says how many there are; they come into the page one after another.
export const start = (image, given) => {
  const wait = (left) => {
    const box = image.closest(".book-explorer");
    const there = box ? box.querySelectorAll(CONTROLS).length : 0;
    if (there >= given.controls && box.querySelector(".book-said")) { wire(box); }
    else if (left) { requestAnimationFrame(() => wait(left - 1)); }
  };
  wait(FRAMES);
};
