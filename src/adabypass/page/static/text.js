/* Numbers, times and elements: everything that comes from outside goes into the page as text. */

const SVG = "http://www.w3.org/2000/svg";

export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return value.toExponential(2).replace("e", " e");
  const figures = Math.max(digits, Math.ceil(Math.log10(size + 1)));
  return value.toLocaleString("en", { maximumSignificantDigits: Math.min(figures, 15) }).replace("-", "−");
}

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

/* The time of an answer, as short as it can be said. */
export function moment(time) {
  if (time === null || time === undefined) return "";
  if (typeof time === "number") return String(time);
  return time.replace("T", " ").replace(/\.\d+/, "").replace(/Z$/, " UTC").replace(/ 00:00(:00)?$/, "");
}

export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function drawn(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function table(heads, rows) {
  const head = element("tr", {}, ...heads.map((each) => element("th", { scope: "col" }, each)));
  const lines = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
}

/* How much a surprise stands out: 0 as expected, 1 surprising, 2 an anomaly. */
export function heatOf(answer) {
  if (!answer || answer.surprise === null || answer.surprise === undefined) return 0;
  if (answer.anomaly) return 2;
  return Math.abs(answer.surprise) > 1.96 ? 1 : 0;
}

export function surpriseWords(answer) {
  if (!answer || answer.y === null) return "missing";
  if (answer.surprise === null || answer.surprise === undefined) return "too early to say";
  const side = answer.surprise > 0 ? "high" : "low";
  return ["as expected", `surprisingly ${side}`, `anomaly: ${side}`][heatOf(answer)];
}
