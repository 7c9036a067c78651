// The zoomable timeline of report.html, and its copy buttons. Plain JavaScript (ES2017) without a library; the page
// is readable without it.
"use strict";

(() => {
  // Sizes in CSS pixels.
  const laneHeight = 22, laneGap = 3, nameHeight = 20, axisHeight = 26, lanesName = 100, narrow = 560;
  const ranksAtFirst = 4;
  // Marks on fills that have an ink, like the patterns of the style sheet.
  const patterns = {communication: "hatch", framework: "bars", "kernel-slowdown": "dots", input: "lines", "wasted-compute": "cross", recomputation: "cross"};

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  /// Nanoseconds as "1.234 ms", with enough digits to show `resolution`.
  function timeText(ns, resolution = Math.abs(ns) / 1000) {
    if (ns === 0) return "0";
    const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
    const [name, size] = units.find(([, one]) => Math.abs(ns) >= one) || units[3];
    const digits = clamp(Math.ceil(-Math.log10(Math.max(resolution, 1e-3) / size)), 0, 6);
    return `${(ns / size).toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")} ${name}`;
  }

  /// Four digits and a prefix: "122.4 GB/s".
  function rateText(rate, unit) {
    const prefixes = ["", "k", "M", "G", "T", "P"];
    let step = 0;
    while (rate >= 999.95 && step + 1 < prefixes.length) {
      rate /= 1000;
      ++step;
    }
    return `${Number(rate.toPrecision(4))} ${prefixes[step]}${unit}`;
  }

  /// [{name, lanes: [{name, bars: {start, end, kind, item}[]}]}] of the page's data.
  function tracksOf(data) {
    return data.tracks.map(([name, streams]) => ({
      name,
      lanes: streams.map(([stream, numbers]) => {
        const bars = [];
        let at = 0;
        for (let i = 0; i < numbers.length; i += 4) {
          const start = at + numbers[i];
          at = start + numbers[i + 1];
          bars.push({start, end: at, kind: numbers[i + 2], item: numbers[i + 3]});
        }
        return {name: stream, bars};
      }),
    }));
  }

  function tipText(data, track, lane, bar) {
    const length = bar.end - bar.start;
    const lines = [];
    const [, kindName] = data.kinds[bar.kind];
    if (bar.item < 0) {
      lines.push(kindName);
    } else {
      const [title, details, flops, bytes, alone] = data.items[bar.item];
      lines.push(title, details);
      if (kindName !== title) lines.push(kindName);
      if (flops > 0 && length > 0) lines.push(`${rateText(flops, "FLOP")} at ${rateText(flops / length * 1e9, "FLOP/s")}`);
      if (bytes > 0 && length > 0) lines.push(`${rateText(bytes, "B")} at ${rateText(bytes / length * 1e9, "B/s")}`);
      if (alone > 0 && length > alone * 1.001) lines.push(`alone it takes ${timeText(alone)}`);
    }
    lines.push(`${timeText(length)}, from ${timeText(bar.start, length / 10)}`, `${track.name}, ${lane.name}`);
    return lines.join("\n");
  }

  class Timeline {
    constructor(view, data) {
      this.data = data;
      this.tracks = tracksOf(data);
      this.view = view;
      this.canvas = view.querySelector("canvas");
      this.tip = view.querySelector(".tip");
      this.range = view.querySelector("output");
      this.end = Math.max(data.end, 1);
      this.from = 0;
      this.to = this.end;
      this.showsAll = this.tracks.length <= ranksAtFirst;
      this.pointers = new Map();
      this.ranksButton = view.querySelector('[data-action="ranks"]');
      if (!this.showsAll) {
        this.ranksButton.hidden = false;
        this.ranksButton.textContent = `all ${this.tracks.length} tracks`;
      }
      view.hidden = false;
      this.listen();
      this.readColours();
      this.draw();
    }

    listen() {
      const actions = {
        in: () => this.zoom(0.5), out: () => this.zoom(2), left: () => this.pan(-0.25), right: () => this.pan(0.25),
        all: () => this.show(0, this.end), ranks: () => this.toggleRanks(),
      };
      for (const button of this.view.querySelectorAll("[data-action]")) button.addEventListener("click", actions[button.dataset.action]);
      const keys = {"+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right", ArrowUp: "in", ArrowDown: "out"};
      this.canvas.addEventListener("keydown", (event) => {
        if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        actions[keys[event.key]]();
      });
      this.canvas.addEventListener("wheel", (event) => this.onWheel(event), {passive: false});
      this.canvas.addEventListener("pointerdown", (event) => this.onDown(event));
      this.canvas.addEventListener("pointermove", (event) => this.onMove(event));
      for (const name of ["pointerup", "pointercancel"]) {
        this.canvas.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
      }
      this.canvas.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse") this.tip.hidden = true;
      });
      new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
        this.readColours();
        this.draw();
      });
    }

    toggleRanks() {
      this.showsAll = !this.showsAll;
      this.ranksButton.setAttribute("aria-pressed", String(this.showsAll));
      this.draw();
    }

    // The visible interval: from, to in nanoseconds.

    show(from, to) {
      const length = clamp(to - from, Math.min(20, this.end), this.end);
      this.from = clamp(from, 0, this.end - length);
      this.to = this.from + length;
      this.tip.hidden = true;
      this.draw();
    }

    zoom(factor, about = (this.from + this.to) / 2) {
      this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
    }

    pan(share) {
      const step = share * (this.to - this.from);
      this.show(this.from + step, this.to + step);
    }

    // Converts a time to its place in the canvas, and back.

    get plotLeft() { return this.width < narrow ? 0 : lanesName; }
    get plotWidth() { return Math.max(this.width - this.plotLeft - 1, 1); }
    x(ns) { return this.plotLeft + (ns - this.from) / (this.to - this.from) * this.plotWidth; }
    time(x) { return this.from + (x - this.plotLeft) / this.plotWidth * (this.to - this.from); }

    onWheel(event) {
      if (event.deltaX === 0 && event.deltaY === 0) return;
      // Scrolling past the timeline scrolls the page. A pinch on a touchpad arrives as a wheel event with Ctrl.
      if (!event.ctrlKey && document.activeElement !== this.canvas) return;
      const before = [this.from, this.to];
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey)
        this.pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
      else
        this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.time(event.offsetX));
      // If the timeline cannot zoom out further, the page scrolls; with Ctrl the browser would zoom it.
      if (event.ctrlKey || before[0] !== this.from || before[1] !== this.to) event.preventDefault();
    }

    onDown(event) {
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event.offsetX);
      if (event.pointerType !== "mouse") this.point(event);
    }

    onMove(event) {
      const last = this.pointers.get(event.pointerId);
      if (last === undefined) {
        this.point(event);
        return;
      }
      const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
      this.pointers.set(event.pointerId, event.offsetX);
      const perPixel = (this.to - this.from) / this.plotWidth;
      if (others.length === 0) {
        if (event.offsetX !== last) this.show(this.from - (event.offsetX - last) * perPixel, this.to - (event.offsetX - last) * perPixel);
        return;
      }
      const other = others[0][1];
      const apart = Math.max(Math.abs(event.offsetX - other), 1);
      const middle = this.time((event.offsetX + other) / 2);
      this.zoom(clamp(Math.abs(last - other) / apart, 0.5, 2), middle);
    }

    /// Shows the bar under the pointer.
    point(event) {
      const found = this.barAt(event.offsetX, event.offsetY);
      this.tip.hidden = !found;
      if (!found) return;
      this.tip.textContent = tipText(this.data, found.track, found.lane, found.bar);
      const left = this.canvas.offsetLeft + event.offsetX;
      const place = clamp(left + 14, 0, Math.max(this.view.clientWidth - this.tip.offsetWidth, 0));
      this.tip.style.left = `${place}px`;
      this.tip.style.top = `${this.canvas.offsetTop + event.offsetY + 18}px`;
    }

    barAt(x, y) {
      const row = this.rows.find((one) => y >= one.top && y < one.top + laneHeight);
      if (!row || x < this.plotLeft) return undefined;
      const near = 2 / this.plotWidth * (this.to - this.from);  // bars thinner than a pixel can be hit too
      const at = this.time(x);
      let best;
      for (const bar of row.lane.bars) {
        const away = Math.max(bar.start - at, at - bar.end, 0);
        if (away <= near && (!best || away < best.away)) best = {bar, away};
      }
      return best && {track: row.track, lane: row.lane, bar: best.bar};
    }

    readColours() {
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue(`--${name}`).trim();
      this.colours = {text: colour("text"), muted: colour("muted"), grid: colour("grid"), card: colour("card")};
      this.fills = this.data.kinds.map(([kind]) => {
        const ground = colour(kind), ink = colour(`${kind}-ink`);
        return {ground, fill: ink ? this.pattern(patterns[kind], ground, ink) : ground, ink: this.textOn(ground)};
      });
    }

    pattern(name, ground, ink) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const paint = tile.getContext("2d");
      paint.fillStyle = ground;
      paint.fillRect(0, 0, 8, 8);
      paint.fillStyle = paint.strokeStyle = ink;
      paint.lineWidth = 2;
      const diagonal = (sign) => {
        for (const shift of [-8, 0, 8]) {
          paint.beginPath();
          paint.moveTo(shift, sign > 0 ? 8 : 0);
          paint.lineTo(shift + 8, sign > 0 ? 0 : 8);
          paint.stroke();
        }
      };
      if (name === "hatch" || name === "cross") diagonal(1);
      if (name === "cross") diagonal(-1);
      if (name === "bars") paint.fillRect(0, 0, 2, 8);
      if (name === "lines") paint.fillRect(0, 0, 8, 2);
      if (name === "dots") paint.fillRect(3, 3, 2, 2);
      return paint.createPattern(tile, "repeat");
    }

    /// Black or white, whichever is more readable.
    textOn(ground) {
      const part = (i) => parseInt(ground.substr(1 + 2 * i, 2), 16) / 255;
      return 0.299 * part(0) + 0.587 * part(1) + 0.114 * part(2) > 0.5 ? "#101418" : "#ffffff";
    }

    /// Places of the lanes, and their total height.
    layOut() {
      this.rows = [];
      let top = axisHeight;
      for (const track of this.showsAll ? this.tracks : this.tracks.slice(0, ranksAtFirst)) {
        const nameTop = top;
        top += nameHeight;
        track.lanes.forEach((lane, number) => {
          if (this.plotLeft === 0 && track.lanes.length > 1) top += 16;  // for its name
          this.rows.push({track, lane, top, nameTop: number === 0 ? nameTop : undefined});
          top += laneHeight + laneGap;
        });
        top += 4;
      }
      return top;
    }

    draw() {
      this.width = this.canvas.clientWidth;
      if (this.width === 0) return;
      const height = this.layOut();
      const scale = window.devicePixelRatio || 1;
      this.canvas.style.height = `${height}px`;
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(height * scale);
      const paint = this.canvas.getContext("2d");
      paint.scale(scale, scale);
      paint.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif";
      paint.textBaseline = "middle";
      this.drawAxis(paint, height);
      for (const row of this.rows) this.drawRow(paint, row);
      const resolution = (this.to - this.from) / 1000;
      const text = `${timeText(this.from, resolution)} to ${timeText(this.to, resolution)} of ${timeText(this.end)}`;
      if (this.range.textContent !== text) this.range.textContent = text;
    }

    drawAxis(paint, height) {
      const most = clamp(Math.floor(this.plotWidth / 80), 2, 12);
      const rough = (this.to - this.from) / most;
      const power = Math.pow(10, Math.floor(Math.log10(rough)));
      const step = [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= rough);
      paint.strokeStyle = this.colours.grid;
      paint.fillStyle = this.colours.muted;
      for (let number = Math.ceil(this.from / step); number * step <= this.to; ++number) {
        const x = this.x(number * step);
        paint.beginPath();
        paint.moveTo(x, axisHeight - 6);
        paint.lineTo(x, height);
        paint.stroke();
        const text = timeText(number * step, step);
        const half = paint.measureText(text).width / 2;
        paint.textAlign = "center";
        paint.fillText(text, clamp(x, this.plotLeft + half, this.width - half), 9);
      }
    }

    drawRow(paint, row) {
      paint.textAlign = "left";
      if (row.nameTop !== undefined) {
        paint.fillStyle = this.colours.text;
        paint.fillText(row.track.name, 0, row.nameTop + nameHeight / 2);
      }
      paint.fillStyle = this.colours.muted;
      if (row.track.lanes.length === 1) {
        // its name is enough
      } else if (this.plotLeft > 0) {
        paint.textAlign = "right";
        paint.fillText(row.lane.name, this.plotLeft - 8, row.top + laneHeight / 2, this.plotLeft - 8);
      } else {
        paint.fillText(row.lane.name, 0, row.top - 8);
      }
      paint.save();
      paint.beginPath();
      paint.rect(this.plotLeft, row.top, this.plotWidth, laneHeight);
      paint.clip();
      paint.textAlign = "left";
      let drawnTo = -1;  // bars that end within the last drawn pixel are not visible
      for (const bar of row.lane.bars) {
        if (bar.end < this.from) continue;
        if (bar.start > this.to) break;
        const left = this.x(bar.start), right = this.x(bar.end);
        if (right < drawnTo) continue;
        const width = Math.max(right - left, 1);
        drawnTo = Math.floor(left + width);
        const fill = this.fills[bar.kind];
        paint.fillStyle = fill.fill;
        paint.fillRect(left, row.top, width, laneHeight);
        if (width > 8) {
          paint.fillStyle = this.colours.card;
          paint.fillRect(right - 0.75, row.top, 0.75, laneHeight);
        }
        this.drawName(paint, bar, fill, Math.max(left, this.plotLeft), Math.min(right, this.width), row.top);
      }
      paint.restore();
    }

    /// The bar's title, or the part of it that fits.
    drawName(paint, bar, fill, left, right, top) {
      if (right - left < 44 || bar.item < 0) return;
      let title = this.data.items[bar.item][0];
      let width = paint.measureText(title).width;
      if (width > right - left - 10) {
        const letters = Math.floor(title.length * (right - left - 10) / width) - 1;
        if (letters < 3) return;
        title = `${title.slice(0, letters)}\u2026`;
        width = paint.measureText(title).width;
      }
      if (fill.fill !== fill.ground) {
        paint.fillStyle = fill.ground;
        paint.fillRect(left + 2, top + 3, width + 6, laneHeight - 6);
      }
      paint.fillStyle = fill.ink;
      paint.fillText(title, left + 5, top + laneHeight / 2 + 0.5);
    }
  }

  const view = document.getElementById("timeline-view");
  const data = document.getElementById("timeline-data");
  if (view && data) {
    document.documentElement.classList.add("scripted");
    new Timeline(view, JSON.parse(data.textContent));
  }

  // Marks the section in view in the contents.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const inView = new Set();
  const nav = document.querySelector("nav");
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) inView[entry.isIntersecting ? "add" : "delete"](entry.target.id);
    const current = [...links.keys()].find((id) => inView.has(id));
    for (const [id, link] of links) {
      if (id !== current) link.removeAttribute("aria-current");
      else if (!link.hasAttribute("aria-current")) {
        link.setAttribute("aria-current", "location");
        // Only the contents scroll, not the page.
        nav.scrollTo(link.offsetLeft - nav.clientWidth / 3, link.offsetTop - nav.clientHeight / 3);
      }
    }
  }, {rootMargin: "-50px 0px -45% 0px"});
  for (const section of document.querySelectorAll("section")) observer.observe(section);

  for (const button of document.querySelectorAll("button[data-copies]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copies);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch (refused) {
        getSelection().selectAllChildren(source);  // for copying by hand
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
})();
