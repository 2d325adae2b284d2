// Shows one option and one step of each section at a time. Without it the page shows all options and all steps.
"use strict";

for (const section of document.querySelectorAll("section.explore")) {
  const controls = section.querySelector("form.controls");
  const select = controls.querySelector("select");
  const slider = controls.querySelector("input");
  const output = controls.querySelector("output");
  const names = JSON.parse(slider.dataset.names);
  const options = [...section.querySelectorAll(".option")];
  controls.hidden = false;
  section.classList.add("live");

  const show = () => {
    const picked = options[select ? Number(select.value) : 0];
    const step = Number(slider.value);
    for (const option of options) option.classList.toggle("picked", option === picked);
    for (const film of picked.querySelectorAll(".film")) {
      // an image that was not kept at this step is the last one kept before it; its caption says which
      const figures = [...film.children];
      const before = figures.filter((figure) => Number(figure.dataset.index) <= step);
      const now = before.at(-1);
      for (const figure of figures) figure.classList.toggle("now", figure === now);
    }
    const drawing = picked.querySelector("svg");
    if (drawing) {
      const x = JSON.parse(drawing.dataset.positions)[step];
      for (const end of ["x1", "x2"]) drawing.querySelector(".marker").setAttribute(end, x);
    }
    const heads = [...picked.querySelectorAll("thead th")].slice(1);
    const cells = picked.querySelectorAll("tbody tr")[step]?.querySelectorAll("td") ?? [];
    const numbers = heads.map((head, index) => `${head.textContent} ${cells[index].textContent}`);
    output.textContent = [names[step], ...numbers].join(" · ");
    slider.setAttribute("aria-valuetext", output.textContent);
  };

  controls.addEventListener("input", show);
  controls.addEventListener("submit", (event) => event.preventDefault());
  show();
}
