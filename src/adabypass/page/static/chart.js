/* The fan chart. uPlot has the axes, the zoom and the cursor; bands, lines and dots are drawn by a hook of our own,
   since its bands are wrong where a series has gaps (uPlot issue 574), and a fan has nothing in the past. */

import { element, heatOf, moment, number, surpriseWords } from "./text.js";

const MAX_RADIUS = 4;
const DATES = [
  /* from which step on, the label, and what is added where the year, the day or the minute begins anew */
  [31536000, "{YYYY}", null, null, null, null, null, null, 1],
  [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [0.001, ":{ss}.{fff}", "\n{D} {MMM} {YYYY} {HH}:{mm}", null, "\n{D} {MMM} {HH}:{mm}", null, "\n{HH}:{mm}", null, 1],
];
const NAMES = ["paper", "line", "quiet", "observed", "mean", "band-50", "band-90", "change", "surprise"];

export class FanChart {
  constructor(host, tip) {
    this.host = host;
    this.tip = tip;
    this.answers = [];
    this.ahead = null;
    this.window = 300;
    this.range = null; /* null: follow what comes */
    this.onFollow = () => {};
    this.plot = null;
    this.size = "";
    new ResizeObserver(() => this.resize()).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
    host.addEventListener("keydown", (event) => this.key(event));
    host.addEventListener("dblclick", () => this.follow());
  }

  show(answers, ahead) {
    const isDated = answers.length > 0 && typeof answers.at(-1).time === "string";
    const mustRebuild = this.plot === null || isDated !== this.isDated;
    this.isDated = isDated;
    this.answers = answers;
    this.ahead = ahead?.at?.length && ahead.mean ? ahead : null;
    this.data = this.columns();
    if (mustRebuild) this.rebuild();
    else this.plot.setData(this.data, true);
  }

  columns() {
    const next = this.ahead ?? { at: [], mean: [] };
    const at = [...this.answers.map((each) => each.at), ...next.at];
    const pad = next.at.map(() => null);
    return [at, [...this.answers.map((each) => each.y), ...pad], [...this.answers.map((each) => each.mean ?? null), ...next.mean]];
  }

  rebuild() {
    const { width, height } = this.host.getBoundingClientRect();
    if (width < 50 || !this.data) return;
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    this.colour = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: this.colour.quiet, font, ticks: { show: false }, grid: { stroke: this.colour.line, width: 1 } };
    const blank = { paths: () => null, points: { show: false } };
    const years = (plot, splits) => splits.map((value) => String(Math.round(1e6 * value) / 1e6));
    this.plot = new uPlot(
      {
        width, height, legend: { show: false }, padding: [14, 10, 0, 0],
        tzDate: (at) => uPlot.tzDate(new Date(1000 * at), "Etc/UTC"),
        scales: { x: { time: this.isDated, range: () => this.xRange() }, y: { range: () => this.yRange() } },
        series: [{}, blank, blank],
        axes: [
          { ...axis, grid: { show: false }, size: this.isDated ? 46 : 32, values: this.isDated ? DATES : years, space: 74 },
          { ...axis, size: 58, values: (plot, splits) => splits.map((value) => number(value)) },
        ],
        cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
        hooks: {
          drawAxes: [(plot) => this.draw(plot)],
          setCursor: [(plot) => this.point(plot)],
          setSelect: [(plot) => this.select(plot)],
        },
      },
      this.data,
      this.host,
    );
    this.size = `${width}x${height}`;
  }

  resize() {
    const { width, height } = this.host.getBoundingClientRect();
    if (!this.plot) this.rebuild();
    else if (width > 50 && this.size !== `${width}x${height}`) {
      this.size = `${width}x${height}`;
      this.plot.setSize({ width, height });
    }
  }

  /* What is shown: the part that was zoomed to, or the newest observations and all that is ahead of them. */
  xRange() {
    if (this.range) return this.range;
    const at = this.data[0];
    if (at.length === 0) return [0, 1];
    const n = this.answers.length;
    const first = at[Math.max(0, this.window === "all" ? 0 : n - this.window)];
    const last = at.at(-1);
    const margin = 0.012 * (last - first) || 1;
    return [first - margin, last + margin];
  }

  yRange() {
    const [left, right] = this.xRange(); /* at first the plot does not know it yet */
    const seen = [];
    const bounds = [];
    for (const each of this.answers) {
      if (each.at < left || each.at > right) continue;
      if (each.y !== null) seen.push(each.y);
      if (typeof each.lower_90 === "number") bounds.push(each.lower_90, each.upper_90);
    }
    this.ahead?.at.forEach((at, i) => {
      if (at >= left && at <= right && this.ahead.lower_90) bounds.push(this.ahead.lower_90[i], this.ahead.upper_90[i]);
    });
    const known = [...seen, ...bounds].filter(Number.isFinite);
    if (known.length === 0) return [0, 1];
    const [low, high] = seen.length ? [Math.min(...seen), Math.max(...seen)] : [Math.min(...known), Math.max(...known)];
    const reach = 1.2 * (high - low) || Infinity; /* the first, wide intervals may leave the picture */
    const bottom = Math.max(Math.min(low, ...known), low - reach);
    const top = Math.min(Math.max(high, ...known), high + reach);
    const margin = 0.06 * (top - bottom) || 0.06 * Math.abs(top) || 1;
    return [bottom - margin, top + margin];
  }

  draw(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const x = (at) => plot.valToPos(at, "x", true);
    const y = (value) => plot.valToPos(value, "y", true);
    const shown = this.answers.filter((each) => each.at >= plot.scales.x.min - 1e-9 && each.at <= plot.scales.x.max + 1e-9);
    this.drawFan(ctx, x, y, shown);
    this.drawNow(ctx, x, bbox);
    this.drawChanges(ctx, x, bbox, shown);
    this.drawObservations(ctx, x, y, shown, bbox.width);
    ctx.restore();
  }

  drawFan(ctx, x, y, shown) {
    const past = shown.filter((each) => typeof each.mean === "number");
    const ahead = this.ahead;
    const whole = [
      ...past.map((each) => [each.at, each.mean, each.lower_90, each.upper_90, each.quantile_25, each.quantile_75]),
      ...(ahead ? ahead.at.map((at, i) => [at, ahead.mean[i], ahead.lower_90?.[i], ahead.upper_90?.[i], ahead.lower_50?.[i], ahead.upper_50?.[i]]) : []),
    ];
    for (const [low, high, colour] of [[2, 3, this.colour["band-90"]], [4, 5, this.colour["band-50"]]]) {
      const known = whole.filter((each) => Number.isFinite(each[low]) && Number.isFinite(each[high]));
      if (known.length === 0) continue;
      ctx.beginPath();
      known.forEach((each) => ctx.lineTo(x(each[0]), y(each[high])));
      known.reverse().forEach((each) => ctx.lineTo(x(each[0]), y(each[low])));
      ctx.closePath();
      ctx.fillStyle = colour;
      ctx.fill();
    }
    ctx.beginPath();
    whole.filter((each) => Number.isFinite(each[1])).forEach((each) => ctx.lineTo(x(each[0]), y(each[1])));
    ctx.strokeStyle = this.colour.mean;
    ctx.lineWidth = 1.4 * devicePixelRatio;
    ctx.lineJoin = "round";
    ctx.stroke();
  }

  drawNow(ctx, x, bbox) {
    if (!this.ahead || this.answers.length === 0) return;
    this.upright(ctx, x(this.answers.at(-1).at), bbox, this.colour.quiet, [2, 4]);
  }

  drawChanges(ctx, x, bbox, shown) {
    ctx.font = `${12 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    let free = -Infinity;
    for (const each of shown.filter((one) => one.change)) {
      const at = x(each.at);
      this.upright(ctx, at, bbox, this.colour.change, [5, 4]);
      if (at < free) continue; /* no word over another */
      ctx.fillStyle = this.colour.change;
      const wide = ctx.measureText(each.change).width;
      const isRight = at + wide + 8 * devicePixelRatio < bbox.left + bbox.width;
      ctx.fillText(each.change, isRight ? at + 5 * devicePixelRatio : at - wide - 5 * devicePixelRatio, bbox.top + 2);
      free = at + wide + 14 * devicePixelRatio;
    }
  }

  upright(ctx, at, bbox, colour, dash) {
    ctx.beginPath();
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.2 * devicePixelRatio;
    ctx.stroke();
    ctx.setLineDash([]);
  }

  drawObservations(ctx, x, y, shown, width) {
    const seen = shown.filter((each) => each.y !== null);
    const ratio = devicePixelRatio;
    if (!shown.some((each) => typeof each.mean === "number")) this.join(ctx, x, y, shown);
    const radius = Math.max(1.1, Math.min(2.6, 12 / Math.sqrt((1000 * seen.length) / (width / ratio || 1)) + 0.6)) * ratio;
    for (const heat of [0, 1, 2]) {
      ctx.fillStyle = heat === 0 ? this.colour.observed : this.colour.surprise;
      for (const each of seen) {
        if (heatOf(each) !== heat) continue;
        const strength = heat === 0 ? 1 : 1 + 0.22 * Math.min(Math.abs(each.surprise), 5);
        this.dot(ctx, x(each.at), y(each.y), Math.min(radius * strength, MAX_RADIUS * ratio));
        if (heat === 2) this.ring(ctx, x(each.at), y(each.y), 7 * ratio, this.colour.surprise);
      }
    }
    const last = this.answers.at(-1);
    if (last && last.y !== null && last === seen.at(-1)) {
      const colour = heatOf(last) ? this.colour.surprise : this.colour.observed;
      ctx.fillStyle = colour;
      this.dot(ctx, x(last.at), y(last.y), 3.4 * ratio);
      this.ring(ctx, x(last.at), y(last.y), 6.5 * ratio, colour);
    }
  }

  /* Where nothing was forecast, a thin line joins observations; a missing one breaks it. */
  join(ctx, x, y, shown) {
    ctx.beginPath();
    let isBroken = true;
    for (const each of shown) {
      if (each.y !== null) ctx[isBroken ? "moveTo" : "lineTo"](x(each.at), y(each.y));
      isBroken = each.y === null;
    }
    ctx.strokeStyle = this.colour.quiet;
    ctx.lineWidth = 0.6 * devicePixelRatio;
    ctx.stroke();
  }

  dot(ctx, x, y, radius) {
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.fill();
  }

  ring(ctx, x, y, radius, colour) {
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.stroke();
  }

  /* Tell what is at the cursor. */
  point(plot) {
    const at = plot.cursor.idx;
    if (at === null || at === undefined || plot.cursor.left < 0) {
      this.tip.hidden = true;
      return;
    }
    const answer = this.answers[at];
    const lines = answer ? pastLines(answer) : this.aheadLines(at - this.answers.length);
    if (!lines) return;
    this.tip.replaceChildren(...lines.map((line, i) => element(i === 0 ? "b" : "div", {}, line)));
    this.tip.hidden = false;
    const box = this.host.getBoundingClientRect();
    const outer = this.tip.offsetParent.getBoundingClientRect();
    const x = plot.valToPos(this.data[0][at], "x") + plot.bbox.left / devicePixelRatio + box.left - outer.left;
    const isRight = x > box.width / 2;
    this.tip.style.left = `${isRight ? x - this.tip.offsetWidth - 14 : x + 14}px`;
    this.tip.style.top = `${box.top - outer.top + 22}px`;
  }

  aheadLines(step) {
    const ahead = this.ahead;
    if (!ahead || step < 0 || step >= ahead.at.length) return null;
    const when = ahead.time ? moment(ahead.time[step]) : "";
    const lines = [`${when}${when ? ", " : ""}${step + 1} ahead`, `forecast ${number(ahead.mean[step])}`];
    if (ahead.lower_90) lines.push(`90 %: ${number(ahead.lower_90[step])} to ${number(ahead.upper_90[step])}`);
    return lines;
  }

  select(plot) {
    const { left, width } = plot.select;
    if (width < 8) return;
    const range = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.zoomTo(range);
  }

  zoomTo(range) {
    this.range = range;
    this.onFollow(range === null);
    this.plot?.setData(this.data, true);
  }

  follow() {
    this.zoomTo(null);
  }

  scale(factor) {
    if (!this.plot) return;
    const { min, max } = this.plot.scales.x;
    const half = (factor * (max - min)) / 2;
    this.zoomTo([(min + max) / 2 - half, (min + max) / 2 + half]);
  }

  move(share) {
    if (!this.plot) return;
    const { min, max } = this.plot.scales.x;
    this.zoomTo([min + share * (max - min), max + share * (max - min)]);
  }

  key(event) {
    const act = {
      ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2), "+": () => this.scale(0.6),
      "=": () => this.scale(0.6), "-": () => this.scale(1 / 0.6), 0: () => this.follow(),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }
}

function pastLines(answer) {
  const lines = [moment(answer.time) || `row ${answer.number}`, `observed ${number(answer.y)}: ${surpriseWords(answer)}`];
  if (typeof answer.mean === "number") lines.push(`forecast ${number(answer.mean)}`);
  if (typeof answer.lower_90 === "number") lines.push(`90 %: ${number(answer.lower_90)} to ${number(answer.upper_90)}`);
  if (answer.change) lines.push(`change of ${answer.change}`);
  return lines;
}
