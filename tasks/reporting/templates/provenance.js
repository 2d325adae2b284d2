// `provenance` comes from the file beside this page, which a run leaves on its machine
if (typeof provenance !== "undefined") {
  for (const details of document.querySelectorAll("details.provenance")) {
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const name of ["Stage", "Seconds", "Machine", "Commit"]) {
      head.appendChild(document.createElement("th")).textContent = name;
    }
    for (const stage of details.dataset.stages.split(" ")) {
      const record = provenance[stage];
      if (!record) continue;
      const software = record.torch ? `; torch ${record.torch} on ${record.device}` : "";
      const machine = `${record.cores} cores, ${record.memory_gib} GiB, ${record.gpu || "no GPU"}${software}`;
      const row = table.insertRow();
      for (const text of [stage, record.seconds, machine, record.commit || ""]) {
        row.insertCell().textContent = text;
      }
    }
    if (table.rows.length > 1) {
      const scroll = document.createElement("div");
      scroll.className = "scroll";
      scroll.appendChild(table);
      details.querySelector("p").replaceWith(scroll);
    }
  }
}
