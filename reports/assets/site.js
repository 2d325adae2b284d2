// Filters, sorts and searches the table of claims; its state is in the address. Shows provenance where a run left it.
"use strict";

const form = document.querySelector("form.filters");
if (form) {
  const table = document.getElementById("claims");
  const rows = [...table.tBodies[0].rows];
  const scales = [...form.elements.scale.options].map((option) => option.value).filter(Boolean);
  const shown = form.querySelector("output");
  const order = { fails: 0, inconclusive: 1, "holds corrected": 2, holds: 3, "not run": 4 };
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const heads = [...table.tHead.querySelectorAll("[data-sort]")];
  let sorted = "order";
  let falling = false;
  form.hidden = false;

  const ofScales = () => (form.elements.scale.value ? [form.elements.scale.value] : scales);
  const keys = {
    order: (row) => rows.indexOf(row),
    verdict: (row) => Math.min(...ofScales().map((scale) => order[row.dataset[scale]])),
    controls: (row) => -Number(/not rejected:|but none by/.test(row.lastElementChild.textContent)), // those first
  };

  const matches = (row) => {
    const { q, paper, verdict, reason, kind, changes } = form.elements;
    const atSome = ofScales().some((scale) =>
      (!verdict.value || row.dataset[scale] === verdict.value)
      && (!reason.value || row.dataset[`${scale}Reason`] === reason.value));
    return atSome
      && q.value.toLowerCase().split(/\s+/).every((word) => words.get(row).includes(word))
      && (!paper.value || row.dataset.letter === paper.value)
      && (!kind.value || row.dataset.kind === kind.value)
      && (!changes.value || row.dataset.changes === changes.value);
  };

  const show = () => {
    const arranged = [...rows].sort((a, b) => keys[sorted](a) - keys[sorted](b) || rows.indexOf(a) - rows.indexOf(b));
    if (falling) arranged.reverse();
    table.tBodies[0].append(...arranged);
    let count = 0;
    for (const row of rows) {
      row.hidden = !matches(row);
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length} claims`;
    table.classList.toggle("short", !form.elements.whole.checked);
    for (const head of heads) {
      const direction = falling ? "descending" : "ascending";
      head.setAttribute("aria-sort", head.dataset.sort === sorted ? direction : "none");
    }
  };

  const toAddress = () => {
    const state = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    if (sorted !== "order" || falling) state.set("sort", (falling ? "-" : "") + sorted);
    history.replaceState(null, "", `#${state}`);
    show();
  };

  const fromAddress = () => {
    const text = location.hash.slice(1);
    if (text && !text.includes("=")) return;
    const state = new URLSearchParams(text);
    for (const field of form.elements) {
      if (field.type === "checkbox") field.checked = state.has(field.name);
      else if (field.name) field.value = state.get(field.name) || "";
    }
    const wanted = (state.get("sort") || "order").replace("-", "");
    sorted = wanted in keys ? wanted : "order";
    falling = (state.get("sort") || "").startsWith("-");
    show();
    if (text) form.scrollIntoView();
  };

  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      falling = sorted === head.dataset.sort && !falling;
      sorted = head.dataset.sort;
      toAddress();
    });
  }
  form.addEventListener("input", toAddress);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    sorted = "order";
    falling = false;
    toAddress();
  }));
  window.addEventListener("hashchange", fromAddress);
  show();
  fromAddress();
  const cut = [...table.querySelectorAll(".text")].filter((text) => text.scrollHeight > text.clientHeight + 2);
  for (const text of cut) text.title = text.textContent;
}

for (const details of document.querySelectorAll("details.provenance")) {
  const { scale, stages } = details.dataset;
  const fill = () => {
    const records = ((window.provenance || {})[scale]) || {};
    const table = document.createElement("table");
    table.createCaption().textContent = `Stages of the claim, ${scale} scale`;
    const head = table.createTHead().insertRow();
    for (const name of ["Stage", "Seconds", "Machine", "Commit"]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const stage of stages.split(" ").filter((name) => records[name])) {
      const record = records[stage];
      const software = record.torch ? `; torch ${record.torch} on ${record.device}` : "";
      const machine = `${record.cores} cores, ${record.memory_gib} GiB, ${record.gpu || "no GPU"}${software}`;
      const row = body.insertRow();
      for (const text of [stage, record.seconds, machine, record.commit || ""]) row.insertCell().textContent = text;
    }
    if (body.rows.length) details.querySelector("p").replaceWith(table);
  };
  details.addEventListener("toggle", () => {
    // git holds no records of the quick scale; a script that is missing is an error in the console, an object is none
    const there = document.createElement("object");
    there.data = `../${scale}/provenance.js`;
    there.className = "unseen";
    there.addEventListener("load", () => {
      there.remove();
      const script = document.createElement("script");
      script.src = there.data;
      script.addEventListener("load", fill);
      document.head.append(script);
    }, { once: true });
    there.addEventListener("error", () => there.remove(), { once: true });
    document.body.append(there);
  }, { once: true });
}

// a pop-up stays within the window, and is not cut off by a table that scrolls
for (const term of document.querySelectorAll(".term")) {
  const place = () => {
    const tip = term.querySelector(".tip");
    const at = term.getBoundingClientRect();
    tip.style.position = "fixed";
    const { width, height } = tip.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const below = at.bottom + height + 8 < clientHeight || at.top < height + 8;
    tip.style.left = `${Math.max(8, Math.min(at.left, clientWidth - width - 8))}px`;
    tip.style.top = `${below ? at.bottom + 2 : at.top - height - 2}px`;
  };
  term.addEventListener("mouseenter", place);
  term.addEventListener("focus", place);
}

// what is wider than its box says so; images, folded parts and the window change the widths
const sayWhatIsWide = () => {
  for (const box of document.querySelectorAll(".scroll, .math, pre")) {
    box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
  }
};
for (const event of ["load", "resize"]) window.addEventListener(event, sayWhatIsWide);
for (const event of ["load", "toggle"]) document.addEventListener(event, sayWhatIsWide, true);
sayWhatIsWide();

// Escape closes a pop-up
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement.matches(".term")) document.activeElement.blur();
});

// what is folded must be on paper
window.addEventListener("beforeprint", () => {
  for (const image of document.querySelectorAll("img[loading]")) image.loading = "eager";
});
