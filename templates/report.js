"use strict";
// Comfort only: every number and picture is in the page without it. Nothing is fetched, kept or made of markup.
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const make = (name, text, props = {}) => Object.assign(document.createElement(name), { textContent: text }, props);
  // What is repeated in the document is written once: see packed.py.
  const unpacked = ({ keys, shared, document }) => {
    const made = [];
    const open = (node) => {
      if (node === null || typeof node !== "object") return node;
      if (Array.isArray(node)) {
        if (node[0] >= 0) return made[node[0]] ??= open(shared[node[0]]);
        return Object.fromEntries(keys[-1 - node[0]].map((key, n) => [key, open(node[n + 1])]));
      }
      if (node.list) return node.list.map(open);
      return node.runs.split(" ").flatMap((run) => {
        const [number, times] = run.split("*").map(Number);
        return Array(times || 1).fill(number);
      });
    };
    return open(document);
  };
  let data = null;
  const whole = () => data ??= unpacked(JSON.parse(document.getElementById("document").textContent));
  const value = (path) => {
    whole();
    return path.split(".").reduce((place, step) => place?.[decodeURIComponent(step)], data);
  };
  const number = (n) => n >= 100 ? Math.round(n).toLocaleString("en") : String(Number(n.toPrecision(3)));

  // Columns sort by the numbers of the document where cells carry them, else by text.
  const key = (row, column) => {
    const cell = row.cells[column];
    const marked = cell?.matches("[data-v]") ? cell : cell?.querySelector("[data-v]");
    if (!marked) return cell?.textContent.trim() ?? "";
    const place = marked.dataset.v;
    const found = value(place.startsWith(".") ? marked.closest("[data-at]").dataset.at + place : place);
    return found === null ? Infinity : found;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, "en", { numeric: true });
  };
  for (const table of all("table[data-sort]")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = make("button", "", { type: "button", className: "sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row, place) => [key(row, column), place, row]);
        rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]) || a[1] - b[1]);
        table.tBodies[0].append(...rows.map((entry) => entry[2]));
      });
    });
  }

  // One chip for each word of data-<name>; pressed means shown.
  for (const table of all("table[data-filter]")) {
    const name = table.dataset.filter;
    const rows = all(`tbody tr[data-${name}]`, table);
    const words = [...new Set(rows.map((row) => row.dataset[name]))];
    if (words.length < 2) continue;
    const bar = make("div", "", { className: "chips" });
    const said = make("span", "");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", `Show by ${name}`);
    said.setAttribute("aria-live", "polite");
    const show = () => {
      const on = new Set(all("[aria-pressed=true]", bar).map((chip) => chip.dataset.word));
      rows.forEach((row) => { row.hidden = !on.has(row.dataset[name]); });
      said.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} shown`;
    };
    for (const word of words) {
      const count = rows.filter((row) => row.dataset[name] === word).length;
      const chip = make("button", `${word} ${count}`, { type: "button" });
      chip.dataset.word = word;
      chip.setAttribute("aria-pressed", "true");
      chip.addEventListener("click", () => {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        show();
      });
      bar.append(chip);
    }
    bar.append(said);
    (table.closest(".scroll") ?? table).before(bar);
  }

  // Copy: a button behind each key, filter and command.
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = make("textarea", "", { value: text, className: "off" });
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  for (const code of all("code[data-copy]")) {
    const text = code.textContent;
    const button = make("button", "copy", { type: "button", className: "copy" });
    button.setAttribute("aria-label", `Copy ${text}`);
    button.addEventListener("click", async () => {
      button.textContent = (await copied(text)) ? "copied" : "not copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    code.after(" ", button);
  }

  // The cursor of a heat map: mouse, arrow keys, Home and End; the cell is told below the map.
  const stamp = (start, seconds) => {
    if (start) return new Date(Date.parse(start) + seconds * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC";
    const whole = Math.round(seconds);
    const two = (n) => String(n).padStart(2, "0");
    return `${whole >= 3600 ? `${Math.floor(whole / 3600)}:` : ""}${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  };
  for (const figure of all("figure.heat")) {
    const svg = figure.querySelector("svg[data-heat]");
    const scroll = figure.querySelector(".ch-scroll");
    const [cursor, told] = [figure.querySelector(".ch-cursor"), figure.querySelector(".ch-say")];
    if (!svg?.dataset.source || !scroll || !cursor || !told) continue;
    const d = svg.dataset;
    const [rows, columns, width, height] = [+d.rows, +d.columns, +d.cellWidth, +d.cellHeight];
    let at = null;
    const go = (row, column) => {
      at = [Math.min(rows - 1, Math.max(0, row)), Math.min(columns - 1, Math.max(0, column))];
      cursor.setAttribute("x", +d.x + at[1] * width);
      cursor.setAttribute("y", +d.y + at[0] * height);
      cursor.setAttribute("visibility", "visible");
      const line = value(d.source)[at[0]];
      const share = ((line.times_target ?? line)[at[1]] * d.factor) / 1000;
      const row_ = d.labels ? value(d.labels)[at[0]] : null;
      const keys = row_ && (row_.label || (row_.to_key && row_.to_key !== row_.from_key ? `${row_.from_key} to ${row_.to_key}` : row_.from_key));
      const when = `${stamp(d.start, at[1] * d.step)} to ${stamp(d.start, (at[1] + 1) * d.step)}`;
      const over = share > 1 ? ", over the target" : "";
      told.textContent = `Row ${at[0] + 1}${keys ? ` (${clean(keys)})` : ""}, ${when}: ${number(share * d.target)} ${d.unit}, ${number(share * 100)} % of the target${over}`;
    };
    scroll.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -columns], End: [0, columns] }[event.key];
      if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      if (at) go(at[0] + step[0], at[1] + step[1]); else go(0, 0);
    });
    svg.addEventListener("pointermove", (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const [row, column] = [Math.floor((point.y - d.y) / height), Math.floor((point.x - d.x) / width)];
      if (row >= 0 && row < rows && column >= 0 && column < columns) go(row, column);
    });
  }
  // Control and bidirectional characters of keys are shown as escapes, as everywhere on the page.
  function clean(text) {
    return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => {
      const code = char.codePointAt(0).toString(16);
      return code.length < 3 ? `\\x${code.padStart(2, "0")}` : code.length < 5 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
    });
  }

  // Light or dark, for this visit only.
  const root = document.documentElement;
  const theme = make("button", "light or dark", { type: "button", className: "theme" });
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.querySelector("header.top").append(theme);

  for (const place of all("[data-download]")) {
    const button = make("button", "download them", { type: "button" });
    button.addEventListener("click", () => {
      const text = JSON.stringify(whole());
      const link = make("a", "", { download: "result.json" });
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
    place.append(" ", button);
  }

  // What a link leads to is unfolded.
  const unfold = () => {
    const found = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = found && found.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) fold.open = true;
    return found;
  };
  addEventListener("hashchange", () => unfold()?.scrollIntoView());
  unfold();

  // What is folded is printed too.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
})();
