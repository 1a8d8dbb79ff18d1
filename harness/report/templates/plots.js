// Draws a plot in the colours of the page and the width of its element; redraws it on changes.
"use strict";
const drawPlot = (() => {
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  // Without the buttons that upload data.
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

  // Error bars are dark by default.
  function visible(trace) {
    const colour = getComputedStyle(document.documentElement).getPropertyValue("--dim").trim();
    return trace.error_y ? {...trace, error_y: {...trace.error_y, color: colour}} : trace;
  }

  return (name, [traces, layout]) => {
    const element = document.getElementById(name);
    let width = 0;
    const draw = () => {
      width = element.clientWidth;
      const size = {width, height: element.clientHeight};
      Plotly.react(element, traces.map(visible), {...coloured(layout), ...size}, options);
    };
    draw();
    scheme.addEventListener("change", draw);
    new ResizeObserver(() => { if (element.clientWidth !== width) draw(); }).observe(element);
  };
})();
