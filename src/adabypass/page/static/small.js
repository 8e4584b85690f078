/* The small pictures: sparklines, coverage over time, the histogram of probabilities, and a season. */

import { drawn, percent } from "./text.js";

const WIDTH = 320;

export function sparkline(values) {
  const svg = drawn("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true" });
  const seen = values.map((y, i) => [i, y]).filter((each) => each[1] !== null);
  if (seen.length < 2) return svg;
  const low = Math.min(...seen.map((each) => each[1]));
  const span = Math.max(...seen.map((each) => each[1])) - low || 1;
  const at = ([i, y]) => [1 + (96 * i) / (values.length - 1), 27 - (24 * (y - low)) / span];
  svg.append(drawn("path", { class: "spark", d: `M${seen.map((each) => at(each).map((v) => v.toFixed(1)).join(" ")).join("L")}` }));
  const [x, y] = at(seen.at(-1));
  svg.append(drawn("path", { class: "spark-dot", d: `M${x.toFixed(1)} ${y.toFixed(1)}h0.01` })); /* round at any size */
  return svg;
}

/* Share of observations within the intervals of 90 and 50 %, of the newest `span` up to each. */
export function coverageOverTime(answers, span = 60) {
  const known = answers.filter((each) => each.y !== null && typeof each.lower_90 === "number");
  const inside = (each, low, high) => (each.y >= each[low] && each.y <= each[high] ? 1 : 0);
  const found = [];
  let in90 = 0;
  let in50 = 0;
  known.forEach((each, i) => {
    in90 += inside(each, "lower_90", "upper_90");
    in50 += inside(each, "quantile_25", "quantile_75");
    if (i >= span) {
      in90 -= inside(known[i - span], "lower_90", "upper_90");
      in50 -= inside(known[i - span], "quantile_25", "quantile_75");
    }
    if (i + 1 >= Math.min(span, 20)) {
      const n = Math.min(i + 1, span);
      found.push({ time: each.time, c90: in90 / n, c50: in50 / n });
    }
  });
  return found;
}

export function coverageOfAll(answers) {
  const known = answers.filter((each) => each.y !== null && typeof each.lower_90 === "number");
  const n90 = known.filter((each) => each.y >= each.lower_90 && each.y <= each.upper_90).length;
  const n50 = known.filter((each) => each.y >= each.quantile_25 && each.y <= each.quantile_75).length;
  return { n: known.length, c90: n90 / known.length, c50: n50 / known.length };
}

export function coveragePicture(found) {
  const height = 96;
  const lowest = Math.min(0.4, ...found.map((each) => each.c50));
  const y = (share) => 8 + ((height - 16) * (1 - share)) / (1 - lowest);
  const x = (i) => 30 + ((WIDTH - 34) * i) / Math.max(found.length - 1, 1);
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img",
    "aria-label": "Share of the newest 60 observations within their intervals of 90 and 50 %, over time" });
  for (const share of [0.9, 0.5]) {
    svg.append(drawn("line", { class: "target", x1: 30, x2: WIDTH - 4, y1: y(share), y2: y(share) }));
    svg.append(drawn("text", { x: 26, y: y(share) + 4, "text-anchor": "end" }, percent(share)));
  }
  for (const [field, name] of [["c50", "line-50"], ["c90", "line-90"]]) {
    const points = found.map((each, i) => `${x(i).toFixed(1)} ${y(each[field]).toFixed(1)}`);
    if (points.length > 1) svg.append(drawn("path", { class: name, d: `M${points.join("L")}` }));
  }
  return svg;
}

/* How often an observation fell into each tenth of its forecast: alike if forecasts are calibrated. */
export function probabilityCounts(answers) {
  const counts = new Array(10).fill(0);
  for (const each of answers) {
    if (typeof each.surprise === "number") counts[Math.min(9, Math.floor(10 * normalCdf(each.surprise)))] += 1;
  }
  return counts;
}

export function probabilityPicture(counts) {
  const height = 96;
  const total = counts.reduce((a, b) => a + b, 0) || 1;
  const top = Math.max(0.2, ...counts.map((n) => n / total));
  const y = (share) => height - 16 - (height - 24) * (share / top);
  const wide = (WIDTH - 34) / 10;
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img",
    "aria-label": "Share of observations in each tenth of their forecast" });
  counts.forEach((n, i) => {
    const share = n / total;
    svg.append(drawn("rect", { class: "bar", x: 31 + i * wide, y: y(share), width: wide - 2, height: height - 16 - y(share) }));
  });
  svg.append(drawn("line", { class: "target", x1: 30, x2: WIDTH - 4, y1: y(0.1), y2: y(0.1) }));
  svg.append(drawn("text", { x: 26, y: y(0.1) + 4, "text-anchor": "end" }, "10 %"));
  svg.append(drawn("text", { x: 31, y: height - 3 }, "lowest tenth"));
  svg.append(drawn("text", { x: WIDTH - 4, y: height - 3, "text-anchor": "end" }, "highest tenth"));
  return svg;
}

export function seasonPicture(name, season) {
  const height = 92;
  const all = [...season.lower, ...season.upper];
  const low = Math.min(...all);
  const span = Math.max(...all) - low || 1;
  const n = season.median.length;
  const x = (i) => 4 + ((WIDTH - 8) * i) / Math.max(n - 1, 1);
  const y = (value) => height - 16 - ((height - 22) * (value - low)) / span;
  const line = (values) => values.map((each, i) => `${x(i).toFixed(1)} ${y(each).toFixed(1)}`);
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `The season of ${n} steps` });
  svg.append(drawn("path", { class: "season-band", d: `M${[...line(season.upper), ...line(season.lower).reverse()].join("L")}Z` }));
  svg.append(drawn("path", { class: "season", d: `M${line(season.median).join("L")}` }));
  svg.append(drawn("text", { x: 4, y: height - 3 }, `the season, ${n} steps from now on`));
  return svg;
}

/* Abramowitz and Stegun 7.1.26: to 1.5e-7, which no picture shows. */
function normalCdf(z) {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const erf = 1 - tail * Math.exp(-x * x);
  return z >= 0 ? 0.5 * (1 + erf) : 0.5 * (1 - erf);
}
