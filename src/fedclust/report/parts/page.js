"use strict";
// Draws the figures; draws them again when width, colours or paper change.
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const PAPER = 900; // pixels of a page's height

  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const cut = (text, room) => {
    const letters = Array.from(text);
    const kept = letters.length > room ? letters.slice(0, room - 1).join("") + "\u2026" : text;
    return escaped(kept);
  };

  // Only values of colour keys are replaced: a client could be named "var(--x)".
  const withColours = (value, css, isColour = false) => {
    if (Array.isArray(value)) return value.map((one) => withColours(one, css, isColour));
    if (value && typeof value === "object") {
      const entries = Object.entries(value).map(([key, one]) => [
        key,
        withColours(one, css, /color(scale)?$/.test(key)),
      ]);
      return Object.fromEntries(entries);
    }
    const found = isColour && typeof value === "string" && value.match(/^var\((--[\w-]+)\)$/);
    return found ? css.getPropertyValue(found[1]).trim() : value;
  };

  const merged = (below, above) => {
    const both = { ...below };
    for (const [key, value] of Object.entries(above)) {
      const deep = value && typeof value === "object" && !Array.isArray(value) && both[key];
      both[key] = deep ? merged(both[key], value) : value;
    }
    return both;
  };

  const axis = {
    fixedrange: true,
    ticks: "",
    title: { standoff: 10 },
    automargin: true,
    gridcolor: "var(--line)",
    linecolor: "var(--line)",
    zerolinecolor: "var(--line)",
  };
  const common = (css, width) => ({
    width,
    autosize: false,
    dragmode: false,
    font: { family: css.fontFamily, size: 12, color: "var(--ink)" },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: {
      bgcolor: "var(--card)",
      bordercolor: "var(--soft)",
      font: { family: css.fontFamily, size: 13, color: "var(--ink)" },
      align: "left",
    },
    margin: { t: 16, b: 44, l: 16, r: 8 },
    xaxis: axis,
    yaxis: axis,
  });

  const fitted = (figure, layout, width) => {
    const room = width < 500 ? 13 : 30;
    const { yaxis, titles } = figure.names;
    if (root.classList.contains("printing")) layout.height = Math.min(layout.height, PAPER);
    if (yaxis) {
      const size = Math.min(12, Math.max(5, (0.8 * (layout.height - 60)) / yaxis.length));
      const ticktext = yaxis.map((name) => cut(name, room));
      layout.yaxis = merged(layout.yaxis, { ticktext, tickfont: { size } });
    }
    if (layout.xaxis.tickvals) {
      const every = Math.ceil((20 * layout.xaxis.tickvals.length) / (width - 120));
      const kept = (_, place) => place % every === 0;
      const [tickvals, ticktext] = ["tickvals", "ticktext"].map((k) => layout.xaxis[k].filter(kept));
      layout.xaxis = merged(layout.xaxis, { tickvals, ticktext });
    }
    if (titles) {
      layout.height = Math.round(Math.min(layout.height, width * 1.05 + 40));
      const [across, up] = [width - 110, layout.height - 120].map((px) => Math.floor(px / 6.6));
      layout.xaxis = merged(layout.xaxis, { title: { text: cut(titles[0], across) } });
      layout.yaxis = merged(layout.yaxis, { title: { text: cut(titles[1], up) } });
    }
    return layout;
  };

  const draw = (figure) => {
    const place = document.getElementById(figure.id);
    const css = getComputedStyle(root);
    const width = Math.floor(place.clientWidth);
    const layout = fitted(figure, merged(common(css, width), figure.layout), width);
    place.style.minHeight = `${layout.height}px`;
    const options = { displayModeBar: false, responsive: false };
    return Plotly.react(place, withColours(figure.data, css), withColours(layout, css), options);
  };
  const drawAll = () =>
    Promise.all(figures.map(draw)).then(() => {
      root.dataset.drawn = String(Number(root.dataset.drawn || 0) + 1);
    });

  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width || root.classList.contains("printing")) return;
    width = window.innerWidth;
    requestAnimationFrame(drawAll);
  });
  scheme.addEventListener("change", drawAll);

  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => one.setAttribute("open", ""));
    root.classList.add("printing");
    drawAll();
  });
  window.addEventListener("afterprint", () => {
    folded.forEach((one) => one.removeAttribute("open"));
    root.classList.remove("printing");
    drawAll();
  });

  drawAll();
})();
