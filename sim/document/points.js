// The chart of a sweep's points, whose axes, colour and filters the reader chooses, and the order of their table. Plain
// JavaScript (ES2017) on the data in the page. Without it the page has the table and the charts that do not change.
(() => {
  const source = document.getElementById("points-data");
  const view = document.getElementById("points-view");
  if (!source || !view) return;
  const data = JSON.parse(source.textContent);
  const table = view.parentElement.querySelector("table"), body = table.tBodies[0];
  const tableRows = [...body.rows];
  const rows = tableRows.length;
  const mostShown = 500;    // rows of the table
  const mostColours = 8;    // the style sheet's series
  const mostValues = 60;    // of a key with a filter
  const shapes = 4;
  // Pixels: the plot's height, where the vertical axis begins and its length; percent: likewise the horizontal one.
  const height = 380, bottom = 348, tall = 334, left = 3, wide = 94;
  const noKey = "none", eachLine = "each line";

  /// Numbers of values such as "64" or "25 Gbps", if all have the same unit; otherwise undefined.
  function numbersOf(values) {
    const parts = values.map((value) => /^(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?: (\D.*))?$/i.exec(value));
    if (values.length === 0 || parts.some((part) => !part || part[2] !== parts[0][2])) return undefined;
    return parts.map((part) => Number(part[1]));
  }

  // Every column: id, label, unit, the number of each point (undefined: none), for keys also its text.
  const columns = [
    ...data.keys.map((key) => {
      const numbers = numbersOf(key.values);
      const unit = numbers && (key.values[0].split(" ").slice(1).join(" "));
      return {id: key.name, label: key.name, unit: unit || "", key, isKey: true, isNumeric: Boolean(numbers),
              value: (row) => numbers ? numbers[key.of[row]] : key.of[row], text: (row) => key.values[key.of[row]]};
    }),
    ...data.figures.map((figure) => ({
      id: figure.name, label: figure.label, unit: figure.unit, isKey: false, isNumeric: true,
      value: (row) => figure.values[row] === null ? undefined : figure.values[row],
      text: (row) => figure.values[row] === null ? "-" : valueText(figure.values[row], figure.unit),
    })),
  ];
  const column = (id) => columns.find((one) => one.id === id);
  const varied = columns.filter((one) => one.isKey && one.key.values.length > 1);

  // Larger units, each with its size; a value is printed in the largest in which it is at least 2.
  const prefixes = [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];
  function unitsOf(unit) {
    if (unit === "s") return [["h", 3600], ["min", 60], ["s", 1], ["ms", 1e-3], ["us", 1e-6]];
    if (unit === "%") return [["%", 0.01]];
    if (["B", "FLOP", "FLOP/s", "J", "W"].includes(unit)) return prefixes.map(([name, size]) => [name + unit, size]);
    return [[unit, 1]];
  }
  function unitFor(value, unit) {
    const units = unitsOf(unit);
    return units.find(([, size]) => Math.abs(value) >= 2 * size) || units[units.length - 1];
  }
  const digits = (number, most = 3) => {
    const million = Math.abs(number) >= 1e6;
    const text = (million ? number / 1e6 : number).toLocaleString("en-US", {maximumSignificantDigits: most});
    return million ? `${text} M` : text;
  };
  const plainDigits = (number) => Math.abs(number) < 1e6 && Number.isInteger(number) ? number.toLocaleString("en-US") : digits(number);
  function valueText(value, unit) {
    const [name, size] = unitFor(value, unit);
    return `${plainDigits(value / size)}${name ? ` ${name}` : ""}`;
  }

  // The reader's choices.
  const choice = {x: data.x, y: data.y, colour: noKey, filters: new Map(), sort: undefined, isDown: false};
  const isKept = (row) => [...choice.filters].every(([key, value]) => key.of[row] === value);
  const kept = () => Array.from({length: rows}, (_, row) => row).filter(isKept);

  /// A select element's options, [value, text] each.
  function fill(select, options, chosen, changed) {
    for (const [value, text] of options) select.add(new Option(text, value, false, value === chosen));
    select.addEventListener("change", () => changed(select.value));
  }

  const axisTitle = (one, unit) => unit ? `${one.label}, ${unit}` : one.label;

  // ---- axes: place(value) in percent or pixels, ticks [value, text][]

  /// 1, 2 and 5 times powers of ten from `low` to `high`.
  function decades(low, high) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
      for (const digit of [1, 2, 5]) ticks.push(digit * Math.pow(10, power));
    const from = ticks.filter((tick) => tick <= low * 1.000001).pop();
    const to = ticks.find((tick) => tick >= high * 0.999999);
    return ticks.filter((tick) => tick >= from && tick <= to);
  }

  function steps(low, high, most) {
    const rough = (high - low) / (most - 1) || Math.abs(high) || 1;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= rough * 0.999999);
    const ticks = [];
    for (let number = Math.floor(low / step + 1e-6); number * step < high + step * 0.999999; ++number) ticks.push(number * step);
    if (ticks.length === 1) ticks.push(ticks[0] + step);
    return ticks;
  }

  function axisOf(one, values, begin, length) {
    if (!one.isNumeric) {
      const used = [...new Set(values)].sort((a, b) => a - b);
      return {place: (value) => begin + length * (used.indexOf(value) + 0.5) / used.length, isOfNames: true,
              ticks: used.map((value) => [value, one.key.values[value]]), title: one.label};
    }
    const low = Math.min(...values), high = Math.max(...values);
    const [unit, size] = one.isKey ? [one.unit, 1] : unitFor(high, one.unit);
    const isLog = low > 0 && high / low > 20;
    const distinct = [...new Set(values)].sort((a, b) => a - b);
    let ticks = isLog ? decades(low / size, high / size) : steps(one.isKey ? low / size : Math.min(0, low / size), high / size, 8);
    if (isLog && ticks.length > 9) ticks = ticks.filter((tick) => Number.isInteger(Math.round(1e6 * Math.log10(tick)) / 1e6));
    if (isLog && ticks.length < 2) ticks = [low / size, high / size];
    const from = Math.min(ticks[0] * size, low), to = Math.max(ticks[ticks.length - 1] * size, high);
    const share = isLog ? (value) => Math.log(value / from) / Math.log(to / from) : (value) => (value - from) / (to - from || 1);
    // Few numbers, such as those of GPUs, have ticks of their own.
    const isOwn = distinct.length <= 10 && (one.isKey || one.unit === "GPUs");
    const shown = isOwn ? distinct.map((value) => [value, plainDigits(value / size)]) : ticks.map((tick) => [tick * size, digits(tick, 6)]);
    return {place: (value) => begin + length * share(value), ticks: shown, title: axisTitle(one, unit), isOfNames: false};
  }

  // ---- the plot

  const svgName = "http://www.w3.org/2000/svg";
  function svg(name, attributes, parent, text) {
    const element = document.createElementNS(svgName, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }
  function html(name, className, parent, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  const letter = 7.2;  // pixels, at most, of the tick's font on average
  const cut = (text, most) => text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}\u2026`;

  /// Ticks on the horizontal axis that do not touch, with texts that fit.
  function acrossTicks(axis, width) {
    const pixels = (value) => axis.place(value) / 100 * width;
    const room = axis.isOfNames ? width * wide / 100 / axis.ticks.length : 0;
    const shown = [];
    let free = -Infinity;
    for (const [value, text] of axis.ticks) {
      const label = axis.isOfNames ? cut(text, Math.max(4, Math.floor(room / letter) - 1)) : text;
      const half = label.length * letter / 2;
      if (pixels(value) - half < free) continue;
      free = pixels(value) + half + 4;
      shown.push([value, label]);
    }
    return shown;
  }

  const isScale = (one) => one.id === "ranks" || Boolean(one.isKey && one.key.is_scale);
  /// The keys that distinguish lines: all but what the horizontal axis shows.
  const lineKeys = () => varied.filter((one) => one.id !== choice.x && !(isScale(column(choice.x)) && isScale(one)));
  const inWords = (keys, row) => keys.map((one) => `${one.label}=${one.text(row)}`).join(", ");
  const grouped = (points, name) => {
    const groups = new Map();
    for (const row of points) {
      const text = name(row);
      if (!groups.has(text)) groups.set(text, []);
      groups.get(text).push(row);
    }
    return [...groups].map(([name, rows]) => ({name, rows}));
  };

  /// The points' groups by colour: [{name, rows}], at most mostColours.
  function coloured(points) {
    const keys = choice.colour === eachLine ? lineKeys() : varied.filter((one) => one.id === choice.colour);
    const all = grouped(points, (row) => inWords(keys, row));
    if (all.length <= mostColours) return all;
    const others = all.slice(mostColours - 1);
    return [...all.slice(0, mostColours - 1), {name: `${others.length} others`, rows: others.flatMap((group) => group.rows), isOthers: true}];
  }

  /// Rows that differ only in what the horizontal axis shows, in its order; none where it shows a result.
  function linesOf(points) {
    const x = column(choice.x);
    if (!x.isNumeric || (!x.isKey && !isScale(x))) return [];
    return grouped(points, (row) => inWords(lineKeys(), row)).map((line) => line.rows.sort((a, b) => x.value(a) - x.value(b)));
  }

  function tipText(row) {
    const keys = varied.map((one) => `${one.label}=${one.text(row)}`).join(", ");
    const shown = [...new Set([choice.x, choice.y])].map(column).filter((one) => !varied.includes(one));
    return [keys, ...shown.map((one) => `${one.label}: ${one.text(row)}`)].filter(Boolean).join("\n");
  }

  const plot = document.getElementById("points-plot");
  function draw() {
    const x = column(choice.x), y = column(choice.y);
    const points = kept().filter((row) => x.value(row) !== undefined && y.value(row) !== undefined);
    const all = kept().length;
    document.getElementById("points-shown").textContent =
        `${points.length.toLocaleString("en-US")} of ${data.all.toLocaleString("en-US")} points` +
        (points.length < all ? `; ${all - points.length} of those chosen have no value here` : "");
    plot.replaceChildren();
    if (points.length === 0) return;
    const across = axisOf(x, points.map(x.value), left, wide), up = axisOf(y, points.map(y.value), bottom, -tall);
    const figure = html("figure", "plot chosen", plot);
    html("div", "up-title", figure, up.title);
    const axes = html("div", "axes", figure);
    const labels = svg("svg", {class: "up", width: 64, height, "aria-hidden": "true"}, axes);
    const field = svg("svg", {class: "field", width: "100%", height, role: "img", "aria-label": `${y.label} over ${x.label}; the table below has the numbers`}, axes);
    html("figcaption", "", figure, across.title);
    for (const [value, text] of up.ticks) {
      const at = up.place(value).toFixed(1);
      svg("line", {class: "grid", x1: 0, x2: "100%", y1: at, y2: at}, field);
      svg("text", {class: "end", x: 58, y: Number(at) + 4}, labels, cut(text, 8));
    }
    const width = Math.max(field.getBoundingClientRect().width, 100);
    for (const [value, text] of acrossTicks(across, width)) {
      const at = `${across.place(value).toFixed(2)}%`;
      svg("line", {class: "tick", x1: at, x2: at, y1: bottom, y2: bottom + 5}, field);
      svg("text", {class: "middle", x: at, y: bottom + 19}, field, text);
    }
    const lines = svg("svg", {width: "100%", height, viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none"}, field);
    const legend = document.createElement("ul");
    legend.className = "legend";
    coloured(points).forEach((group, number) => {
      const kind = group.isOthers ? "others" : `series${number}`;
      const curves = group.isOthers ? [] : linesOf(group.rows);
      for (const line of curves) {
        const best = line.filter((row, i) => !line.some((other, k) => x.value(other) === x.value(row) && (y.value(other) > y.value(row) || (y.value(other) === y.value(row) && k < i))));
        if (best.length > 1) svg("polyline", {class: kind, points: best.map((row) => `${across.place(x.value(row)).toFixed(2)},${up.place(y.value(row)).toFixed(1)}`).join(" ")}, lines);
      }
      for (const row of group.rows) {
        const mark = svg("use", {class: `mark ${kind}`, href: `#m${number % shapes}`, x: `${across.place(x.value(row)).toFixed(2)}%`, y: up.place(y.value(row)).toFixed(1)}, field);
        svg("title", {}, mark, tipText(row));
      }
      if (!group.name) return;
      const item = html("li", "", legend);
      const sign = svg("svg", {class: "sign", "aria-hidden": "true"}, item);
      if (curves.length > 0) svg("line", {class: kind, x1: 0, x2: 34, y1: 7, y2: 7}, sign);
      svg("use", {class: `mark ${kind}`, href: `#m${number % shapes}`, x: 17, y: 7}, sign);
      item.append(` ${group.name}`);
    });
    if (legend.children.length > 0) plot.append(legend);
  }

  // ---- the table

  const numberOf = (row) => Number(tableRows[row].cells[0].textContent.replaceAll(",", ""));
  const shownOrder = html("output", "", html("p", "hint"));
  shownOrder.id = "points-order";
  table.parentElement.before(shownOrder.parentElement);

  function order() {
    const points = kept();
    if (choice.sort !== undefined) {
      const one = column(data.columns[choice.sort]);
      const value = (row) => one ? one.value(row) : numberOf(row);
      const isText = one && !one.isNumeric;
      points.sort((a, b) => {
        const first = value(a), second = value(b);
        if (first === undefined || second === undefined) return (first === undefined) - (second === undefined) || a - b;
        const before = isText ? one.text(a).localeCompare(one.text(b), "en") : first - second;
        return (choice.isDown ? -before : before) || a - b;
      });
    }
    body.replaceChildren(...points.slice(0, mostShown).map((row) => tableRows[row]));
    shownOrder.textContent =
        `${Math.min(points.length, mostShown).toLocaleString("en-US")} of ${data.all.toLocaleString("en-US")} points` +
        (choice.sort === undefined ? ". A column's head sorts by it." : "");
    heads.forEach((head, i) => {
      if (i === choice.sort) head.setAttribute("aria-sort", choice.isDown ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  const heads = [...table.tHead.rows[0].cells].slice(0, data.columns.length);
  heads.forEach((head, i) => {
    const button = html("button", "sort", undefined, head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const one = column(data.columns[i]);
      choice.isDown = choice.sort === i ? !choice.isDown : Boolean(one) && !one.isKey;  // the largest figure first
      choice.sort = i;
      order();
    });
  });
  order();

  const figures = columns.filter((one) => !one.isKey);
  if (figures.length === 0) return;
  for (const axis of ["x", "y"]) {
    if (!column(choice[axis])) choice[axis] = figures[0].id;
  }
  const select = (name) => document.getElementById(`points-${name}`);
  const chosen = (what) => (id) => {
    choice[what] = id;
    draw();
  };
  const isFew = (number) => number > 1 && number <= mostColours;
  const all = Array.from({length: rows}, (_, row) => row);
  const byLine = lineKeys().length > 1 && isFew(grouped(all, (row) => inWords(lineKeys(), row)).length);
  const few = varied.filter((one) => isFew(one.key.values.length));
  const asked = few.find((one) => one.id === data.colour), usual = few.find((one) => !one.key.is_scale);
  choice.colour = asked ? asked.id : byLine ? eachLine : usual ? usual.id : noKey;
  const offers = (list) => list.map((one) => [one.id, one.label]);
  fill(select("x"), offers([...varied, ...figures]), choice.x, chosen("x"));
  fill(select("y"), offers([...figures, ...varied.filter((one) => one.isNumeric)]), choice.y, chosen("y"));
  fill(select("colour"), [[noKey, noKey], [eachLine, eachLine], ...offers(varied)], choice.colour, chosen("colour"));
  for (const {key, label} of varied.filter((one) => one.key.values.length <= mostValues)) {
    const filter = html("label", "", document.getElementById("points-filters"), `${label} `);
    const values = document.createElement("select");
    filter.append(values);
    fill(values, [["", "all"], ...key.values.map((value, i) => [String(i), value])], "", (value) => {
      if (value === "") choice.filters.delete(key);
      else choice.filters.set(key, Number(value));
      draw();
      order();
    });
  }
  view.hidden = false;
  draw();
  let drawnWidth = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth === drawnWidth) return;
    drawnWidth = plot.clientWidth;
    draw();
  }).observe(plot);
})();
