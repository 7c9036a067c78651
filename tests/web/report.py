#!/usr/bin/env python3
"""report.html of runs and sweeps, and plan.html, in headless Chromium, from file:// and without a network.

usage: report.py PROGRAM SOURCE_DIR [--screenshots DIR]

Writes pages of runs and sweeps of all kinds and checks of each: the console is empty, nothing is loaded, sections and
charts are there with a size, no two texts of a chart overlap, the page is nowhere wider than the window, text has a
contrast of 4.5 in light and dark. Of the timeline: wheel, buttons, keys, dragging and a touch change what is shown, the
tooltip shows. Of a sweep's chart and table: axes, colour, filter and order change what is shown. Contents stay in view, and
a number stays on a line with its unit. Without script the page reads as well. --screenshots also writes every page in light and dark, wide and
narrow, as printed and in grey, for people to look at. Exit status 1: something is wrong.
"""

import argparse
import base64
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WIDTHS = (360, 800, 1600)
SCHEMES = ("light", "dark")

RUN = {"answer", "figures", "limits", "where", "timeline", "layers", "memory", "needs", "trust", "errors", "experiment"}
PLAN = {"answer", "map", "next", "changes", "search", "where", "memory", "trust", "errors", "experiment"}
SWEEP = {"answer", "what", "points", "trust", "errors", "sweep"}
# Names that are markup, as a layer, an experiment's file and a value of a sweep.
HOSTILE = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'>\"&"
HOSTILE_FILE = "<img src=x onerror='window.broken=1'>.yaml"

# name: arguments, sections that have to be there, plots
PAGES = {
    "single": (["run", "resnet50_p3_2xlarge"], RUN, 1),
    "dgx2": (["run", "resnet50_dgx2"], RUN | {"collectives", "links", "ranks"}, 1),
    "gpus_1024": (["run", "resnet50_dgx2", "--set", "nodes=64"], RUN | {"collectives", "links", "ranks"}, 1),
    "horovod": (["run", "resnet50_dlperf", "--set", "stack=horovod", "--set", "nodes=2"], RUN | {"collectives", "links"}, 1),
    "servers": (["run", "resnet50_p2_16xlarge_async"], RUN | {"updates", "links"}, 1),
    "learning": (["run", "digits_stragglers"], RUN | {"updates", "learning", "links"}, 4),
    "faults": (["run", "bert_large_dgx_a100_faults"], RUN | {"collectives", "faults"}, 2),
    "input": (["run", "resnet50_dgx2_input"], RUN, 1),
    "tianshu": (["sweep", "tianshu", "--set", "ranks=1,8,64,1000", "--set", "batch_per_gpu=4,32,64"],
                SWEEP | {"scaling"}, 14),
    "report_tables": (["sweep", "tianshu_report", "--set", "ranks=1,1000", "--set", "precision=amp"],
                      SWEEP | {"scaling", "report1", "report5"}, None),
    "imagenet_in_an_hour": (["sweep", "imagenet_in_an_hour", "--set", "ranks=8,64,256,352"],
                            SWEEP | {"scaling", "published"}, 7),
    "cloud_cost": (["sweep", "cloud_cost"], SWEEP | {"scaling"}, 5),
    "trade_off": (["sweep", "digits_trade_off", "--set", "learn.rate.rule=fixed"], SWEEP | {"learning"}, 4),
    "many": (["sweep", "resnet50_dgx2", "--set", "batch_per_gpu=1..60 step 1", "--set", "gpus=1,2", "--set",
              "platform.fabric.nic=10 Gbps,25 Gbps,40 Gbps,50 Gbps,100 Gbps"], SWEEP, None),
    "failures": (["sweep", "gpt2_small_dgx2", "--set", "batch_per_gpu=8,32,64"], SWEEP | {"failures"}, 0),
    "plan": (["plan", "gpt2_small", "--on", "dgx1v", "--gpus", "8,16", "--global-batch", "64", "--over", "batch_per_gpu=1,4",
              "--over", "parallelism.recompute=none"], PLAN | {"groups"}, 2),
    "hostile": (["run", HOSTILE_FILE], RUN - {"memory", "needs"} | {"collectives"}, 0),
    "hostile_sweep": (["sweep", HOSTILE_FILE, "--set", "gpus=2,4", "--set", f"precision=fp32,{HOSTILE}"],
                      SWEEP | {"scaling", "failures"}, 4),
}

# Pages of --html: arguments, heads that have to be there.
SMALL_PAGES = {
    "topology": (["topology", "dgx2"], ["Devices of a node", "Minimum cut between gpu[0-7] and gpu[8-15], per direction"]),
    "collective": (["collective", "all_reduce", "--platform", "dgx2", "--nodes", "2"], ["Times by size"]),
    "import": (["import", "kineto", "IMPORTS/worker0.pt.trace.json", "-o", "step.csv"], ["Profile", "Step", "Trace"]),
    "explain": (["explain", "resnet50_p3_16xlarge_x2"], ["In short", "Critical path", "Changes that help"]),
    "compare": (["compare", "resnet50_dgx2", "resnet50_dgx1v"], ["In short", "Side by side", "Known errors of predictions"]),
    "memory": (["memory", "--model", "gpt2_small", "--platform", "dgx1v"], ["Memory by term", "Verdict"]),
}

# What the page itself is asked. Relative luminance and contrast are those of WCAG 2.
SCRIPT = r"""
const luminance = ([r, g, b]) => {
  const part = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const colour = (text) => (text.match(/[\d.]+/g) || []).map(Number);
const groundOf = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const ground = colour(getComputedStyle(one).backgroundColor);
    if (ground.length === 3 || ground[3] === 1) return ground.slice(0, 3);
  }
  return [255, 255, 255];
};
const isShown = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 0;
const faults = [];
const texts = new Map();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const parent = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || ["SCRIPT", "STYLE", "TITLE", "title"].includes(parent.tagName) || !isShown(parent)) continue;
  const style = getComputedStyle(parent);
  const ink = colour(parent.closest("svg") ? style.fill : style.color);
  const key = `${ink} on ${groundOf(parent)}`;
  if (!texts.has(key)) texts.set(key, {ink, ground: groundOf(parent), text: walker.currentNode.data.trim().slice(0, 40)});
}
for (const {ink, ground, text} of texts.values()) {
  const [high, low] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
  const contrast = (high + 0.05) / (low + 0.05);
  if (contrast < 4.5) faults.push(`contrast of "${text}" is ${contrast.toFixed(2)}`);
}
let charts = 0;
for (const figure of document.querySelectorAll("figure, .stack, .share")) {
  if (!isShown(figure)) continue;
  ++charts;
  const box = figure.getBoundingClientRect();
  if (box.width < 60 || box.height < 8) faults.push(`a chart is only ${box.width} x ${box.height}`);
  const boxes = [...figure.querySelectorAll("text, .up-title, figcaption, .lane span")].filter(isShown)
      .map((one) => ({element: one, box: one.getBoundingClientRect(), text: one.textContent}));
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
    const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
    const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
    if (across > 0.5 && down > 1.5) faults.push(`"${a.text}" and "${b.text}" overlap by ${across.toFixed(1)} x ${down.toFixed(1)}`);
  }));
  for (const one of boxes) {
    const window = one.element.closest("svg");
    const limit = window && getComputedStyle(window).overflow !== "visible" ? window.getBoundingClientRect() : {left: 0, right: innerWidth};
    if (one.box.left < limit.left - 0.5 || one.box.right > limit.right + 0.5) faults.push(`"${one.text}" is cut off`);
  }
}
for (const one of document.querySelectorAll(".n, .value")) {
  if (isShown(one) && one.getClientRects().length > 1) faults.push(`"${one.textContent}" is on two lines`);
}
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} wide in a window of ${root.clientWidth}`);
const loaded = performance.getEntriesByType("resource").map((one) => one.name);
if (loaded.length > 0) faults.push(`it loads ${loaded}`);
for (const section of document.querySelectorAll("section")) {
  if (!section.querySelector("h2") || section.getBoundingClientRect().height < 60) faults.push(`section ${section.id} is empty`);
}
for (const link of document.querySelectorAll("nav a")) {
  if (!document.getElementById(link.getAttribute("href").slice(1))) faults.push(`${link.textContent} leads nowhere`);
}
return {faults, charts, sections: [...document.querySelectorAll("section")].map((one) => one.id),
        plots: document.querySelectorAll("figure.plot").length};
"""


class Pages:
    """Chromium, and what was found wrong."""

    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                         "--disable-background-networking", "--disable-component-update", "--disable-sync",
                         "--hide-scrollbars", f"--user-data-dir={profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.faults = []
        self.checks = 0

    def expect(self, is_so, page, what):
        self.checks += 1
        if not is_so:
            self.faults.append(f"{page}: {what}")

    def view(self, width, scheme, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, file):
        self.driver.get(file.as_uri())

    def picture(self, file):
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        width = self.driver.execute_script("return innerWidth")
        answer = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "format": "png", "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": min(height, 16000), "scale": 1}})
        file.write_bytes(base64.b64decode(answer["data"]))


def check_text(pages, name, text, sections):
    """What can be told without a browser."""
    plain = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", text, flags=re.S)
    try:
        xml.fromstring(plain)
    except xml.ParseError as error:
        pages.expect(False, name, f"not well-formed: {error}")
    found = re.findall(r'<section id="([a-z-]+)">', text)
    pages.expect(sections <= set(found), name, f"lacks the sections {sorted(sections - set(found))}")
    pages.expect(len(text) < 1e6, name, f"is {len(text)} bytes")
    pages.expect(not re.search(r'(src|href)="(?!#|data:)', text), name, "refers to something outside")


def check_views(pages, name, file, plots):
    pages.view(WIDTHS[0], SCHEMES[0])
    pages.open(file)
    for scheme in SCHEMES:
        for width in WIDTHS:
            pages.view(width, scheme)
            answer = pages.driver.execute_script(SCRIPT)
            for fault in answer["faults"]:
                pages.expect(False, f"{name} at {width} px, {scheme}", fault)
            pages.expect(plots is None or answer["plots"] == plots, name, f"has {answer['plots']} plots, not {plots}")
            pages.expect(answer["charts"] > 0, name, "has no chart")
            for entry in pages.driver.get_log("browser"):
                pages.expect(False, f"{name} at {width} px, {scheme}", f"console: {entry['message']}")


def check_timeline(pages, name, file):
    pages.view(1200, "light")
    pages.open(file)
    driver = pages.driver
    canvas = driver.find_element(By.TAG_NAME, "canvas")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    shown = lambda: driver.find_element(By.ID, "timeline-range").text  # noqa: E731
    box = driver.execute_script("const box = arguments[0].getBoundingClientRect(); return [box.left, box.top, box.width];", canvas)
    whole = shown()
    pages.expect(re.fullmatch(r"0 to \S+ \S+ of \S+ \S+", whole) is not None, name, f"the range reads '{whole}'")
    at = (box[0] + 0.6 * box[2], box[1] + 60)  # in the first lane

    def mouse(kind, place=at, **more):
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": place[0], "y": place[1], **more})

    def changes(what, action, back=None):
        before = shown()
        action()
        pages.expect(shown() != before, name, f"{what} does not change what is shown ({before})")
        if back is not None:
            pages.expect(shown() == back, name, f"{what} shows {shown()}, not {back}")

    button = lambda action: driver.find_element(By.CSS_SELECTOR, f'[data-action="{action}"]').click  # noqa: E731
    wheel = functools.partial(mouse, "mouseWheel", deltaX=0)
    wheel(deltaY=-240)
    pages.expect(shown() == whole, name, f"the wheel without focus or Ctrl shows {shown()}")
    time.sleep(0.5)  # the page scrolls instead
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    changes("the wheel with Ctrl", lambda: wheel(deltaY=-240, modifiers=2))
    changes("button all", button("all"), whole)
    mouse("mousePressed", button="left", buttons=1, clickCount=1)
    mouse("mouseReleased", button="left", clickCount=1)
    changes("the wheel after a click", lambda: wheel(deltaY=-240))
    wheel(deltaY=0)
    changes("button all", button("all"), whole)
    for action in ("in", "right", "left", "out"):
        changes(f"button {action}", button(action))
    button("all")()
    for key in ("+", Keys.ARROW_RIGHT, Keys.ARROW_LEFT, "-", "+"):
        changes(f"key {key!r}", functools.partial(canvas.send_keys, key))
    changes("key 0", lambda: canvas.send_keys("0"), whole)
    for _ in range(3):
        canvas.send_keys("+")

    def drag():
        mouse("mousePressed", button="left", buttons=1, clickCount=1)
        mouse("mouseMoved", (at[0] - 120, at[1]), button="left", buttons=1)
        mouse("mouseReleased", (at[0] - 120, at[1]), button="left", clickCount=1)

    changes("dragging", drag)

    def touch(kind, *places):
        driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": at[1], "id": i} for i, x in enumerate(places)]})

    def pinch():
        touch("touchStart", at[0] - 20, at[0] + 20)
        for apart in (40, 80, 120):
            touch("touchMove", at[0] - apart, at[0] + apart)
        touch("touchEnd")

    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    changes("a pinch", pinch)
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    canvas.send_keys("0")
    mouse("mouseMoved", (at[0] + 1, at[1]))
    tip = driver.find_element(By.CLASS_NAME, "tip")
    pages.expect(tip.is_displayed() and re.search(r"\d (s|ms|us|ns), from ", tip.text), name, f"the tooltip reads '{tip.text}'")
    drawn = driver.execute_script(
        "const c = arguments[0], d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const colours = new Set();"
        "for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) colours.add((d[i] << 16) + (d[i + 1] << 8) + d[i + 2]);"
        "return colours.size;", canvas)
    pages.expect(drawn >= 3, name, f"the timeline has {drawn} colours")
    for entry in driver.get_log("browser"):
        pages.expect(False, name, f"console: {entry['message']}")


def check_contents(pages, name, file):
    """They stay in view, mark the section in view, and cover no heading."""
    for width in (360, 1400):
        pages.view(width, "light")
        pages.open(file)
        driver = pages.driver
        driver.execute_script("document.querySelector('nav a[href=\"#trust\"]').click()")
        time.sleep(0.3)
        answer = driver.execute_script(
            "const box = (one) => document.querySelector(one).getBoundingClientRect();"
            "const nav = box('nav'), head = box('#trust h2');"
            "return {nav: nav.top >= -1 && nav.top < 50, free: innerWidth < 1200 ? head.top >= nav.bottom - 1 : head.left >= nav.right,"
            "current: (document.querySelector('nav [aria-current]') || {}).hash};")
        pages.expect(answer["nav"], f"{name} at {width} px", "the contents are out of view")
        pages.expect(answer["free"], f"{name} at {width} px", "the contents cover the heading")
        pages.expect(answer["current"] == "#trust", f"{name} at {width} px", f"the contents mark {answer['current']}")


def check_points(pages, name, file):
    """The chart and the table of a sweep of 24 points, by the keyboard where that is different."""
    pages.view(1200, "light")
    pages.open(file)
    driver = pages.driver
    find = lambda what: driver.find_element(By.CSS_SELECTOR, what)  # noqa: E731
    marks = lambda: len(driver.find_elements(By.CSS_SELECTOR, "#points-plot .field .mark"))  # noqa: E731
    rows = lambda: len(driver.find_elements(By.CSS_SELECTOR, "#points table tbody tr"))  # noqa: E731
    titles = lambda: (find("#points-plot .up-title").text, find("#points-plot figcaption").text)  # noqa: E731
    cells = lambda column: driver.execute_script(  # noqa: E731
        "return [...document.querySelectorAll('#points table tbody tr')].map((row) => row.cells[arguments[0]].textContent);", column)

    def choose(what, text):
        for option in find(what).find_elements(By.TAG_NAME, "option"):
            if option.text == text:
                option.click()
                return
        pages.expect(False, name, f"{what} does not offer {text}")

    pages.expect((marks(), rows()) == (24, 24), name, f"has {marks()} marks and {rows()} rows of 24 points")
    before = titles()
    pages.expect(before == ("throughput, samples/s", "ranks, GPUs"), name, f"the axes are {before}")
    choose("#points-y", "throughput per GPU")
    choose("#points-x", "platform")
    pages.expect(titles() == ("throughput per GPU, samples/s", "platform"), name, f"the axes are {titles()}")
    choose("#points-colour", "nodes")
    legend = find("#points-plot .legend").text
    pages.expect("nodes=8" in legend and "platform=" not in legend, name, f"the legend reads {legend}")
    choose("#points-colour", "none")
    pages.expect(not driver.find_elements(By.CSS_SELECTOR, "#points-plot .legend"), name, "a legend without colours")
    choose("#points-filters label:nth-child(1) select", "8")
    pages.expect((marks(), rows()) == (6, 6), name, f"{marks()} marks and {rows()} rows of the 6 on 8 nodes")
    pages.expect("6 of 24" in find("#points-shown").text, name, "does not say how many are shown")
    choose("#points-filters label:nth-child(1) select", "all")
    heads = driver.find_elements(By.CSS_SELECTOR, "#points table th")
    column = [head.text for head in heads].index("samples/s")
    button = heads[column].find_element(By.TAG_NAME, "button")
    number = lambda text: float(text.replace(",", ""))  # noqa: E731
    button.send_keys(Keys.ENTER)
    rates = [number(text) for text in cells(column)]
    pages.expect(rates == sorted(rates, reverse=True), name, f"the largest is not first: {rates}")
    pages.expect(heads[column].get_attribute("aria-sort") == "descending", name, "the order is not announced")
    button.send_keys(Keys.ENTER)
    pages.expect([number(text) for text in cells(column)] == rates[::-1], name, "the order does not turn")
    heads[2].find_element(By.TAG_NAME, "button").click()
    pages.expect(cells(2) == sorted(cells(2)), name, f"not in the order of a text: {cells(2)}")
    for entry in driver.get_log("browser"):
        pages.expect(False, name, f"console: {entry['message']}")


def check_many_points(pages, name, file):
    """Rows that the page's text leaves out are sorted in."""
    pages.view(1200, "light")
    pages.open(file)
    driver = pages.driver
    rows = driver.find_elements(By.CSS_SELECTOR, "#points table tbody tr")
    pages.expect(len(rows) == 500, name, f"{len(rows)} rows, not 500")
    driver.find_element(By.CSS_SELECTOR, "#points table th button").click()
    driver.find_element(By.CSS_SELECTOR, "#points table th button").click()
    first = driver.find_element(By.CSS_SELECTOR, "#points table tbody tr")
    cells = [cell.text for cell in first.find_elements(By.TAG_NAME, "td")]
    pages.expect(cells[0] == "599" and len(cells) == len(driver.find_elements(By.CSS_SELECTOR, "#points table th")),
                 name, f"the last point is not first: {cells}")
    for entry in driver.get_log("browser"):
        pages.expect(False, name, f"console: {entry['message']}")


def check_copying(pages, name, file):
    pages.open(file)
    copy = pages.driver.find_element(By.CLASS_NAME, "copy")
    pages.expect(copy.is_displayed(), name, "no copy button")
    copy.click()
    said = pages.driver.execute_async_script(
        "const done = arguments[0]; setTimeout(() => done(document.querySelector('.copy').textContent), 100);")
    pages.expect(said in ("Copied", "Selected"), name, f"the copy button says {said}")


def check_without_script(pages, name, file):
    pages.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    pages.open(file)
    pages.expect(pages.driver.find_element(By.CLASS_NAME, "still").is_displayed(), name, "no timeline without script")
    pages.expect(not pages.driver.find_element(By.ID, "timeline-view").is_displayed(), name, "an empty timeline without script")
    pages.expect(not pages.driver.find_element(By.CLASS_NAME, "copy").is_displayed(), name, "a copy button without script")
    pages.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def check_sweep_without_script(pages, name, file):
    pages.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    pages.open(file)
    pages.expect(not pages.driver.find_element(By.ID, "points-view").is_displayed(), name, "controls without script")
    pages.expect(pages.driver.find_element(By.CSS_SELECTOR, "#points table tbody tr").is_displayed(), name, "no table without script")
    pages.expect(pages.driver.find_element(By.CSS_SELECTOR, "#scaling figure.plot").is_displayed(), name, "no chart without script")
    pages.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def check_plan_without_script(pages, name, file):
    """The map says all without colour and pointer: each cell has a number or is empty."""
    pages.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    pages.open(file)
    cells = pages.driver.find_elements(By.CSS_SELECTOR, '[data-role="map"] .cell')
    texts = [cell.text for cell in cells]
    pages.expect(len(texts) > 4 and sum("best" in text.splitlines() for text in texts) == 1, name, f"the map reads {texts}")
    pages.expect(all(re.match(r"(> )?[\d.]+ (s|ms)\n|-$", text) for text in texts), name, f"the map reads {texts}")
    pages.expect(all(cell.get_attribute("title") for cell in cells), name, "a cell of the map has no title")
    pages.expect(pages.driver.find_element(By.CSS_SELECTOR, "#search figure.plot").is_displayed(), name, "no progress without script")
    pages.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def check_hostile(pages, name, file):
    pages.open(file)
    pages.expect(pages.driver.execute_script("return window.broken") is None, name, "a name runs as script")
    pages.expect(not pages.driver.find_elements(By.TAG_NAME, "img"), name, "a name is an element")
    text = pages.driver.execute_script("return document.body.textContent")
    pages.expect("onerror='window.broken" in text, name, "the name is not shown")


def check_small(pages, name, file, heads):
    """A page of --html on a phone, in both colours."""
    for scheme in SCHEMES:
        pages.view(400, scheme)
        pages.open(file)
        for fault in pages.driver.execute_script(SCRIPT)["faults"]:
            pages.expect(False, f"{name} at 400 px, {scheme}", fault)
        for entry in pages.driver.get_log("browser"):
            pages.expect(False, f"{name} at 400 px, {scheme}", f"console: {entry['message']}")
    shown = [one.text for one in pages.driver.find_elements(By.TAG_NAME, "h2") if one.is_displayed()]
    for head in heads:
        pages.expect(head in shown, name, f"lacks the head '{head}': {shown}")


def take_pictures(pages, name, file, folder):
    for scheme in SCHEMES:
        for width in (360, 1400):
            pages.view(width, scheme)
            pages.open(file)
            pages.picture(folder / f"{name}_{scheme}_{width}.png")
    pages.view(1000, "dark")  # prints light all the same
    pages.open(file)
    pages.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    pages.driver.execute_script("document.documentElement.style.filter = 'grayscale(1)'")
    pages.picture(folder / f"{name}_print_grey.png")


def write_hostile(folder):
    quoted = HOSTILE.replace('"', '""')
    (folder / "trace.csv").write_text(f'phase,layer,duration_s,parameter_bytes\nforward,"{quoted}",0.01,\n'
                                      f'backward,"{quoted}",0.02,40000000\n', encoding="utf-8")
    (folder / HOSTILE_FILE).write_text("platform: dgx2\ntrace: trace.csv\nstack: pytorch_ddp\nbatch_per_gpu: 8\ngpus: 4\n",
                                       encoding="utf-8")


def write_pages(program, source, folder):
    """Name -> page; the runs beside each other."""
    env = {**os.environ, "TRAINYARD_DATA": str(source)}
    write_hostile(folder)
    started = {}
    for name, (arguments, *_) in PAGES.items():
        started[name] = subprocess.Popen([program, *arguments, "--out", folder / name], env=env, cwd=folder,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wanted = {"failures": 4, "hostile_sweep": 4}
    for name, process in started.items():
        errors = process.communicate()[1]
        if process.returncode != wanted.get(name, 0):
            sys.exit(f"{name} ended with {process.returncode}: {errors}")
    return {name: folder / name / ("plan.html" if arguments[0] == "plan" else "report.html")
            for name, (arguments, *_) in PAGES.items()}


def write_small_pages(program, source, folder):
    """Name -> page."""
    env = {**os.environ, "TRAINYARD_DATA": str(source)}
    files = {name: folder / f"{name}.html" for name in SMALL_PAGES}
    for name, (arguments, _) in SMALL_PAGES.items():
        words = [word.replace("IMPORTS", str(source / "tests/imports")) for word in arguments]
        subprocess.run([program, *words, "--html", files[name]], env=env, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return files


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("source", type=pathlib.Path)
    arguments.add_argument("--screenshots", type=pathlib.Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        files = write_pages(options.program.resolve(), options.source.resolve(), work)
        small = write_small_pages(options.program.resolve(), options.source.resolve(), work)
        pages = Pages(work / "profile")
        try:
            for name, file in files.items():
                _, sections, plots = PAGES[name]
                check_text(pages, name, file.read_text(encoding="utf-8"), sections)
                check_views(pages, name, file, plots)
                if "timeline" in sections:
                    check_timeline(pages, name, file)
                if name.startswith("hostile"):
                    check_hostile(pages, name, file)
            for name, file in small.items():
                check_small(pages, name, file, SMALL_PAGES[name][1])
            check_contents(pages, "dgx2", files["dgx2"])
            check_points(pages, "cloud_cost", files["cloud_cost"])
            check_many_points(pages, "many", files["many"])
            check_sweep_without_script(pages, "cloud_cost", files["cloud_cost"])
            check_copying(pages, "dgx2", files["dgx2"])
            check_copying(pages, "plan", files["plan"])
            check_plan_without_script(pages, "plan", files["plan"])
            check_without_script(pages, "dgx2", files["dgx2"])
            if options.screenshots:
                options.screenshots.mkdir(parents=True, exist_ok=True)
                for name, file in (files | small).items():
                    take_pictures(pages, name, file, options.screenshots)
        finally:
            pages.driver.quit()
    for fault in pages.faults:
        print(fault)
    print(f"{len(files) + len(small)} pages, {pages.checks} checks, {len(pages.faults)} faults")
    return 1 if pages.faults else 0


if __name__ == "__main__":
    sys.exit(main())
