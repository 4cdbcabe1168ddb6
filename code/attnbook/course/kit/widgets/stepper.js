// A slider over pictures: one is shown, the others are hidden.
import { parts, tell, wake } from "./controls.js";

export const start = (image) => {
  const figure = wake(image);
  const slider = figure.querySelector("input");
  const frames = parts(figure, "frame");
  figure.addEventListener("input", () => {
    const at = slider.valueAsNumber;
    frames.forEach((frame, i) => { frame.hidden = i !== at; });
    tell(slider, `${at + 1} of ${frames.length}`);
  });
};
