// Draws a plot in the page's colours, and again when they change.
"use strict";
const drawPlot = (() => {
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  // No button that would send data anywhere.
  const options = {displaylogo: false, displayModeBar: "hover", modeBarButtons: [["toImage"]]};

  function coloured(layout) {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    const axis = {gridcolor: of("--line"), zerolinecolor: of("--line"), color: of("--dim")};
    return {
      ...layout, paper_bgcolor: of("--paper"), plot_bgcolor: of("--paper"),
      font: {color: of("--ink"), size: 12},
      xaxis: {...layout.xaxis, ...axis}, yaxis: {...layout.yaxis, ...axis},
    };
  }

  return (name, [traces, layout]) => {
    const draw = () => Plotly.react(name, traces, coloured(layout), options);
    draw();
    scheme.addEventListener("change", draw);
    new ResizeObserver(() => Plotly.Plots.resize(name)).observe(document.getElementById(name));
  };
})();
