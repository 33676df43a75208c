// Faults of a page, each as a list of sentences; read by page_checks.py.
({
  // Every control has a name, every image words, and the page a plan that can be heard.
  names() {
    const faults = [];
    const all = (selector) => [...document.querySelectorAll(selector)];
    const tell = (e) => e.outerHTML.slice(0, 120);
    const refuse = (bad, why) => bad.forEach((e) => faults.push(`${why}: ${tell(e)}`));
    const shown = (e) => e.getClientRects().length > 0 && !e.closest(".modebar");
    const textOf = (id) => document.getElementById(id)?.textContent ?? "";
    const named = (e) =>
      [
        e.getAttribute("aria-label"),
        ...(e.getAttribute("aria-labelledby") ?? "").split(/\s+/).map(textOf),
        ...[...(e.labels ?? [])].map((label) => label.textContent),
        e.getAttribute("title"),
      ].some((words) => words?.trim());

    const controls = all("input, select, textarea, progress, meter").filter(shown);
    refuse(controls.filter((e) => e.type !== "hidden" && !named(e)), "no label");
    const pressed = all("a[href], button, summary").filter(shown);
    refuse(pressed.filter((e) => !named(e) && !e.textContent.trim()), "no name");
    refuse(all("img:not([alt])"), "no alt");
    refuse(all("fieldset").filter((e) => !e.querySelector("legend")), "no legend");
    refuse(all("table").filter((e) => !e.querySelector("th[scope]")), "a table without heads");
    refuse(all("label[for]").filter((e) => !document.getElementById(e.htmlFor)), "labels nothing");
    const described = (e) => e.getAttribute("aria-describedby").split(/\s+/);
    const lost = all("[aria-describedby]").filter((e) => described(e).some((id) => !textOf(id)));
    refuse(lost, "described by nothing");
    refuse(all("[tabindex]").filter((e) => Number(e.getAttribute("tabindex")) > 0), "jumps ahead");

    const ids = all("[id]").filter((e) => !e.closest("svg")).map((e) => e.id);
    const twice = new Set(ids.filter((id, at) => ids.indexOf(id) !== at));
    twice.forEach((id) => faults.push(`two elements of id ${id}`));

    // what a strict content policy would not have let through
    const plotly = "[data-figure], #js-plotly-tester";
    const styled = all("[style]").filter((e) => !e.closest(plotly) && e.getAttribute("style"));
    refuse(styled, "a style of its own");
    refuse(all("script:not([src])").filter((e) => e.type !== "application/json"), "inline script");

    if (!document.documentElement.lang) faults.push("the page says no language");
    if (!document.title.trim()) faults.push("the page has no title");
    if (all("main").length !== 1) faults.push("not one main");
    const levels = all("h1, h2, h3, h4").map((e) => Number(e.tagName[1]));
    if (levels.filter((level) => level === 1).length !== 1) faults.push("not one h1");
    const jumps = levels.filter((level, at) => at && level > levels[at - 1] + 1);
    jumps.forEach((level) => faults.push(`a heading jumps to h${level}`));
    return faults;
  },

  // WCAG 2.2, 1.4.3 and 1.4.11: 4.5 to 1, 3 to 1 for large letters and for borders of inputs.
  contrast() {
    const faults = [];
    const settings = { willReadFrequently: true };
    const canvas = document.createElement("canvas").getContext("2d", settings);
    const known = new Map();
    const paint = (text) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    };
    const read = (text) => {
      if (!known.has(text)) known.set(text, paint(text));
      return [...known.get(text)];
    };
    const over = (top, under) =>
      top.slice(0, 3).map((value, at) => value * top[3] + under[at] * (1 - top[3]));
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const light = (rgb) => {
      const [r, g, b] = rgb.map((value) => linear(value / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (one, two) => {
      const [low, high] = [light(one), light(two)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    const above = (e) => (e ? [e, ...above(e.parentElement)] : []);
    const behind = (e) => {
      const layers = above(e).map((each) => read(getComputedStyle(each).backgroundColor));
      const whole = layers.findIndex((colour) => colour[3] === 1);
      const painted = layers.slice(0, whole < 0 ? layers.length : whole + 1).reverse();
      return painted.reduce((under, top) => over(top, under), [255, 255, 255]);
    };
    const skipped = "script, style, noscript, option, .visually-hidden, .skip, [disabled], .modebar";
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const written = new Set();
    while (walk.nextNode()) {
      if (walk.currentNode.textContent.trim()) written.add(walk.currentNode.parentElement);
    }
    for (const e of written) {
      const style = getComputedStyle(e);
      const seen = e.getClientRects().length && style.visibility !== "hidden";
      if (!seen || e.closest(skipped)) continue;
      const svg = e.closest("svg");
      const ink = read(svg ? style.fill : style.color);
      const back = behind(svg ? svg.parentElement : e);
      ink[3] *= above(e).reduce((all, each) => all * Number(getComputedStyle(each).opacity), 1);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const found = ratio(over(ink, back), back);
      if (found < (large ? 2.99 : 4.49)) {
        faults.push(`${found.toFixed(2)} to 1: "${e.textContent.trim().slice(0, 40)}"`);
      }
    }
    const boxes = "input:not([type=hidden], [type=range], [type=checkbox], [type=radio])";
    for (const e of document.querySelectorAll(`${boxes}, select, textarea`)) {
      if (!e.getClientRects().length) continue;
      const style = getComputedStyle(e);
      const inside = behind(e);
      const outside = behind(e.parentElement);
      if (ratio(over(read(style.color), inside), inside) < 4.5) faults.push(`text of ${e.id}`);
      const border = over(read(style.borderTopColor), outside);
      if (ratio(border, outside) < 3) faults.push(`border of ${e.id}`);
    }
    return faults;
  },

  // What scrolls sideways by itself may be wider than the window; the page may not.
  width() {
    const wide = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= wide) return [];
    const beyond = [...document.querySelectorAll("main *, header *, footer *")]
      .filter((e) => e.getBoundingClientRect().right > wide + 1)
      .filter((e) => !e.closest(".scroll, pre, .tabs, svg"));
    const outside = beyond.slice(0, 5).map((e) => e.outerHTML.slice(0, 120));
    return [...outside, "the page is wider than the window"];
  },

  // WCAG 2.2, 2.5.8: what is pressed is large enough for a thumb.
  sizes() {
    const box = (e) => (e.closest("label") ?? e).getBoundingClientRect();
    return [...document.querySelectorAll("button, select, input:not([type=hidden])")]
      .filter((e) => e.getClientRects().length && !e.closest(".modebar"))
      .filter((e) => box(e).height < 24 || box(e).width < 24)
      .map((e) => e.outerHTML.slice(0, 120));
  },

  // Whether all figures are drawn, in the colours that the page has now.
  drawn() {
    // a page that a click has just opened has no body yet
    if (document.readyState !== "complete") return false;
    const ink = getComputedStyle(document.body).color;
    return [...document.querySelectorAll("[data-figure]")].every((e) => {
      const text = e.querySelector("svg text");
      return e.dataset.drawn && (!text || getComputedStyle(text).fill === ink);
    });
  },
})
