// Draws the figures of a case over its runs with plotly, in the colours of the page.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("figures").textContent);
  // Plotly interprets some HTML in texts.
  const plain = (text) => text.replace(/[<>&]/g, "");
  const hover = data.runs.map((run) => `${run.when}<br>${plain(run.commit.slice(0, 12))} ${plain(run.branch)}`);
  const x = data.runs.map((run) => run.when);

  function colours() {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(name).trim();
  }

  // An axis of integers for integers that differ by less than 10.
  function range(values) {
    const known = values.filter((value) => value !== null);
    const [least, most] = [Math.min(...known), Math.max(...known)];
    return known.every(Number.isInteger) && most - least < 10 ? [least - 5, most + 5] : null;
  }

  function layout(unit, stacked, values) {
    const of = colours();
    const axis = {gridcolor: of("--line"), zerolinecolor: of("--line"), color: of("--dim")};
    return {
      paper_bgcolor: of("--paper"), plot_bgcolor: of("--paper"), font: {color: of("--ink"), size: 12},
      margin: {l: 64, r: 12, t: 8, b: 36}, hovermode: stacked ? "x unified" : "closest",
      xaxis: {...axis, type: "date"}, yaxis: {...axis, title: {text: unit}, tickformat: ",~r",
        rangemode: stacked ? "tozero" : "normal", ...(values && range(values) && {range: range(values)})},
      legend: {orientation: "h"}, showlegend: Boolean(stacked),
    };
  }

  // Without the buttons that upload data.
  const options = {responsive: true, displaylogo: false, displayModeBar: "hover",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]]};
  const plots = [];

  function draw(element, traces, unit, stacked, values = null) {
    Plotly.newPlot(element, traces, layout(unit, stacked, values), options);
    plots.push([element, unit, stacked, values]);
    element.on("plotly_click", (event) => {
      const link = data.runs[event.points[0].pointIndex].url;
      if (link) window.open(link, "_blank", "noopener");
    });
  }

  for (const element of document.querySelectorAll(".plot")) {
    const figure = data.figures[Number(element.dataset.figure)];
    if (figure.parts) {
      draw(element, figure.parts.map((part) => ({
        x, y: part.values, name: plain(part.name), stackgroup: "one",
        mode: "lines", line: {width: 1}, hovertemplate: "%{y:,}",
      })), figure.unit, true);
      continue;
    }
    const marked = figure.steps.map((run) => figure.values[run]);
    draw(element, [{
      x, y: figure.values, text: hover, mode: figure.noisy ? "markers" : "lines+markers",
      line: {shape: "hv", color: colours()("--link"), width: 1.5}, marker: {size: 4},
      hovertemplate: "%{y:,}<br>%{text}<extra></extra>", connectgaps: false,
    }, {
      x: figure.steps.map((run) => x[run]), y: marked, mode: "markers", hoverinfo: "skip",
      marker: {size: 9, symbol: "diamond", color: colours()("--bad")},
    }], figure.unit, false, figure.values);
  }
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const [element, ...rest] of plots) Plotly.relayout(element, layout(...rest));
  });
  document.documentElement.dataset.drawn = String(plots.length);
})();
