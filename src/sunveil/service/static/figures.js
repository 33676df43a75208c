// Draws every figure of a page from the JSON beside it, in the page's own colours.
"use strict";
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const axis = (given) => ({
    gridcolor: colour("--line"),
    zerolinecolor: colour("--line"),
    linecolor: colour("--line"),
    automargin: true,
    ...given,
  });

  function layoutOf(given) {
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--ink"), family: getComputedStyle(document.body).fontFamily, size: 13 },
      margin: { l: 48, r: 16, t: 16, b: 44 },
      colorway: ["--one", "--two", "--three", "--four", "--five"].map(colour),
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: { align: "left" },
      ...given,
    };
    for (const key of Object.keys(given)) {
      if (/^[xy]axis\d*$/.test(key)) layout[key] = axis(given[key]);
    }
    layout.xaxis = layout.xaxis ?? axis({});
    layout.yaxis = layout.yaxis ?? axis({});
    if (given.map) {
      // the ground of a map without tiles, in the page's own colour
      const ground = { id: "ground", type: "background", paint: { "background-color": colour("--raised") } };
      layout.map = { ...given.map, style: { version: 8, sources: {}, layers: [ground] } };
    }
    layout.polar = {
      bgcolor: "rgba(0,0,0,0)",
      ...given.polar,
      angularaxis: axis({ direction: "clockwise", rotation: 90, ...given.polar?.angularaxis }),
      radialaxis: axis({ angle: 90, ...given.polar?.radialaxis }),
    };
    return layout;
  }

  function draw(area) {
    const told = document.getElementById(area.dataset.figure);
    const figure = JSON.parse(told.textContent);
    for (const trace of figure.data) {
      for (const bars of [trace.error_x, trace.error_y]) {
        if (bars && !bars.color) bars.color = colour("--quiet");
      }
      if (trace.meta === "interval") trace.line.color = colour("--ink");
    }
    // its height first: what is empty has none, so that pages without scripts show no gap
    area.classList.add("drawn");
    Plotly.newPlot(area, figure.data, layoutOf(figure.layout ?? {}), {
      displaylogo: false,
      responsive: true,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    });
    area.dataset.drawn = "yes";
  }

  const drawAll = (within) => within.querySelectorAll("[data-figure]").forEach(draw);
  window.sunveilFigures = drawAll;
  document.addEventListener("DOMContentLoaded", () => drawAll(document));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(document));
})();
