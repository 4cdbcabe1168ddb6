// One planted mask after another: its map, the reader's verdict, and why.
import { parts, tell, wake } from "../kit/widgets/controls.js";

export const start = (image, { maps, names, bugs, colours }) => {
  const figure = wake(image), form = figure.querySelector("form");
  const slider = figure.querySelector("[type=range]");
  const radios = [...figure.querySelectorAll("[type=radio]")], verdicts = Object.keys(bugs);
  const [result] = parts(figure, "result"), [live] = parts(figure, "live");
  const looks = {
    "×": [colours.leak, "#FFF", "leak"], "○": [colours.lost, "inherit", "lost"],
    "•": [colours.read, "inherit", "changes"], "": [colours.nothing, "inherit", "no change"],
  };
  form.addEventListener("submit", (e) => e.preventDefault());

  // On paper all six stand there by name, as without scripts. (In an attribute, the bare
  // name would be the method of the image.)
  const paper = (printing) => { image.hidden = !printing; live.hidden = printing; };
  window.addEventListener("beforeprint", () => paper(true));
  window.addEventListener("afterprint", () => paper(false));

  const draw = (signs) => parts(figure, "cell").forEach((cell, at) => {
    const sign = signs.flat()[at];
    cell.textContent = sign;
    [cell.style.background, cell.style.color] = looks[sign];
    cell.setAttribute("aria-label", looks[sign][2]);
    cell.style.boxShadow = sign === "○" ? "inset 0 0 0 1.5px #6E7781" : "";
  });

  const count = (signs, sign) => signs.flat().filter((s) => s === sign).length;
  const say = (number, guess) => {
    const leaks = count(maps[number], "×"), lost = count(maps[number], "○");
    const seen = `${leaks} × and ${lost} ○. `, right = names[number];
    if (guess < 0) return `Bug ${number + 1}: ${seen}Which mask is it?`;
    if (verdicts[guess] !== right) {
      return `${seen}No. “${verdicts[guess]}” would look different: ${bugs[verdicts[guess]][0]}.`;
    }
    return `Yes, “${right}”: ${bugs[right][0]}. In code: ${bugs[right][1]}`;
  };

  const show = () => {
    const number = slider.value - 1;
    draw(maps[number]);
    tell(slider, `${slider.value} of ${maps.length}`);
    result.textContent = say(number, radios.findIndex((e) => e.checked));
  };
  slider.addEventListener("input", () => {
    radios.forEach((radio) => { radio.checked = false; });
    show();
  });
  radios.forEach((radio) => radio.addEventListener("input", show));
  show();
};
