"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const save = by("save");
  save.hidden = false;
  save.addEventListener("click", () => {
    const blob = new Blob([by("verdict").textContent], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "verdict.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  const table = by("matrix");
  if (!table) return;
  const heads = [...table.tHead.rows[0].cells];
  const column = (key) => heads.findIndex((head) => head.dataset.key === key);
  const outcomeColumn = column("outcome");
  const ranks = ["FAIL", "WARN", "PASS", "NOTHING", "-"];
  const bodies = [...table.tBodies];
  const groups = bodies.filter((body) => body.className === "group");
  const rows = bodies.filter((body) => body.className === "library").map((body, index) => ({
    body, index,
    cells: [...body.rows[0].cells],
    box: body.querySelector("input"),
    name: body.querySelector(".loc").textContent,
    size: Number(body.dataset.size),
    text: "",
  }));
  const word = (row, at) => row.cells[at].textContent;
  const rank = (row, at) => ranks.indexOf(word(row, at));
  const collator = new Intl.Collator("en", { numeric: true });

  // Filters
  const search = by("search"), gpu = by("gpu"), order = by("order"), shown = by("shown");
  const boxes = [...document.querySelectorAll("#controls input[type=checkbox]")];
  heads.forEach((head, at) => {
    if (head.dataset.key === "gpu") gpu.add(new Option(head.textContent, String(at)));
  });
  if (column("distribution") >= 0) order.add(new Option("distribution", "distribution"));
  const filter = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const allowed = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    if (boxes.every((box) => box.checked)) allowed.add("-");
    const at = gpu.value ? Number(gpu.value) : outcomeColumn;
    let count = 0;
    for (const row of rows) {
      row.text = row.text ||
        `${row.body.rows[0].textContent} ${row.body.querySelector(".more dd")?.textContent ?? ""}`
          .toLowerCase();
      const fits = allowed.has(word(row, at)) && wanted.every((part) => row.text.includes(part));
      row.body.hidden = !fits;
      count += fits;
    }
    heads.forEach((head, index) => head.classList.toggle("chosen", index === at && gpu.value !== ""));
    const all = rows.length.toLocaleString("en");
    shown.value = count === rows.length ? `${all} shown` : `${count.toLocaleString("en")} of ${all} shown`;
  };

  // Order
  let sorted = -1, upwards = true;
  const arrange = (at, up) => {
    sorted = at;
    upwards = up;
    const key = at < 0 ? "" : heads[at].dataset.key;
    const compare = {
      "": (a, b) => a.index - b.index,
      library: (a, b) => collator.compare(a.name, b.name),
      distribution: (a, b) => collator.compare(word(a, at), word(b, at)),
      size: (a, b) => b.size - a.size,
      outcome: (a, b) => rank(a, at) - rank(b, at),
      gpu: (a, b) => rank(a, at) - rank(b, at),
    }[key];
    const sign = up ? 1 : -1;
    const list = [...rows].sort((a, b) => sign * compare(a, b) || a.index - b.index);
    for (const group of groups) group.hidden = at >= 0;
    // Out of the page: moving thousands of rows within it takes seconds.
    const place = table.nextSibling, focused = document.activeElement;
    table.remove();
    table.append(...(at < 0 ? bodies : list.map((row) => row.body)));
    by("libraries").insertBefore(table, place);
    if (table.contains(focused)) focused.focus({ preventScroll: true });
    heads.forEach((head, index) => {
      if (index === at) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    order.value = key === "gpu" || !up ? "" : key;
    if (order.selectedIndex < 0) order.selectedIndex = 0;
  };
  heads.forEach((head, at) => {
    if (!head.dataset.key) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => arrange(at, sorted === at ? !upwards : true));
    head.append(button);
  });

  // Details
  const toggle = (open) => {
    for (const row of rows) if (!row.body.hidden) row.box.checked = open;
  };
  by("open").addEventListener("click", () => toggle(true));
  by("close").addEventListener("click", () => toggle(false));
  table.addEventListener("click", (event) => {
    const body = event.target.closest("tbody.library");
    if (!body || !event.target.closest(".row") || event.target.closest("label")) return;
    if (String(getSelection())) return;
    const box = body.querySelector("input");
    box.checked = !box.checked;
  });
  table.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("input[type=checkbox]")) {
      event.target.checked = !event.target.checked;
      event.preventDefault();
    }
  });

  const controls = by("controls");
  controls.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("input", (event) => {
    if (event.target !== order) filter();
    else arrange(column(order.value), true);
  });
  filter();
})();
