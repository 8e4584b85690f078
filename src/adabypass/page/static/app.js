/* The page: which series is shown, what is known of it, and what has come since. */

import { FanChart } from "./chart.js";
import { Live, ask, seriesPath } from "./live.js";
import { coverageOfAll, coverageOverTime, coveragePicture, probabilityCounts, probabilityPicture, seasonPicture, sparkline } from "./small.js";
import { element, heatOf, moment, number, percent, surpriseWords, table } from "./text.js";

const MAX_ANSWERS = 2000;
const LIST_EVERY = 2000;
const FORECAST_EVERY = 250;
const LEARNED_EVERY = 4000;
const SENTENCE_EVERY = 5000;
const MAX_LISTED = 200;
const $ = (id) => document.getElementById(id);

const state = {
  id: null, answers: [], waiting: [], ahead: null, learned: null, about: null, horizon: 24, isPaused: false,
  isStatic: false, nSeries: 0,
};
const chart = new FanChart($("chart"), $("tip"));
const live = new Live({
  onAnswers: take,
  onState: (name) => say(name),
  onReload: () => show(state.id),
});

/* ---- what comes in ---- */

function take(fresh) {
  if (state.isPaused) {
    state.waiting.push(...fresh);
    $("pause").textContent = `Resume (${state.waiting.length} new)`;
    return;
  }
  state.answers = [...state.answers, ...fresh].slice(-MAX_ANSWERS);
  later("draw", draw, 60);
  later("forecast", loadForecast, FORECAST_EVERY);
  later("learned", loadLearned, LEARNED_EVERY);
}

/* Call a function soon, but once, however often it is asked for. */
const due = new Map();
function later(name, act, wait) {
  if (due.has(name)) return;
  due.set(name, setTimeout(() => {
    due.delete(name);
    act();
  }, wait));
}

async function loadForecast() {
  const id = state.id;
  try {
    const found = await ask(seriesPath(id, `/forecast?horizon=${state.horizon}`));
    if (id !== state.id || state.isPaused) return;
    state.ahead = found;
    draw();
    if (state.answers.length && found.after !== state.answers.at(-1).time) later("forecast", loadForecast, FORECAST_EVERY);
  } catch (error) {
    if (error.status === 401) login();
  }
}

async function loadLearned() {
  const id = state.id;
  try {
    const found = await ask(seriesPath(id, "/explain"));
    if (id !== state.id || state.isPaused) return;
    state.learned = found;
  } catch {
    if (id === state.id) state.learned = null;
  }
  drawLearned();
}

async function loadList() {
  later("list", loadList, LIST_EVERY);
  if (document.hidden || state.isPaused) return;
  const search = encodeURIComponent($("search").value);
  try {
    const found = await ask(`/series?sort=anomaly&spark=1&limit=${MAX_LISTED}&search=${search}`);
    state.nSeries = found.n_series;
    drawList(found);
    if (state.id === null) {
      say("live");
      if (location.hash.length < 3) route();
    }
  } catch (error) {
    if (error.status === 401) login();
    else if (state.id === null) say("lost");
  }
}

/* ---- where we are ---- */

function route() {
  const found = /^#\/series\/(.+)$/.exec(location.hash);
  if (found) {
    show(decodeURIComponent(found[1]));
  } else if (state.nSeries === 0) {
    view("empty");
  } else if (state.nSeries === 1 && state.only) {
    show(state.only);
  } else {
    leave();
    view("list");
  }
}

function leave() {
  live.stop();
  state.id = null;
  document.title = "adabypass";
}

function view(name) {
  const isSeries = name === "series";
  document.body.dataset.view = isSeries && state.nSeries <= 1 ? "one" : name;
  $("series").hidden = !isSeries;
  $("pause").hidden = !isSeries || state.isStatic;
  $("empty").hidden = name !== "empty";
  $("login").hidden = name !== "login";
}

async function show(id) {
  if (id === null) return;
  const isAnother = id !== state.id;
  live.stop();
  Object.assign(state, { id, answers: [], waiting: [], ahead: null, learned: null, about: null });
  setPaused(false);
  if (isAnother) {
    chart.range = null;
    markFollow(true);
  }
  try {
    const [about, past] = await Promise.all([ask(seriesPath(id)), ask(seriesPath(id, `/answers?limit=${MAX_ANSWERS}`))]);
    if (state.id !== id) return;
    state.about = about;
    state.answers = past.answers;
    state.nSeries = Math.max(state.nSeries, 1);
    view("series");
    draw();
    live.follow(id, past.answers.length ? past.answers.at(-1).number : 0);
    if (isAnother) $("main").scrollTop = 0;
    await Promise.all([loadForecast(), loadLearned()]);
  } catch (error) {
    if (error.status === 401) login();
    else if (error.status === 404) missing(id);
    else {
      say("lost");
      later("again", () => state.id === id && show(id), 1000);
    }
  }
}

function missing(id) {
  state.id = null;
  view("empty");
  $("empty-title").textContent = "There is no such series";
  $("empty-text").textContent = `Nothing was sent for “${id}” yet, or it was deleted.`;
  $("empty-code").hidden = true;
}

/* ---- what is said ---- */

const WORDS = { live: "live", lost: "connection lost; trying again", paused: "paused", connecting: "connecting", still: "" };

function say(name) {
  const shown = name === "live" && state.isPaused ? "paused" : name;
  $("status").dataset.state = shown;
  if ($("status-text").textContent !== WORDS[shown]) $("status-text").textContent = WORDS[shown];
}

function setPaused(isPaused) {
  state.isPaused = isPaused;
  $("pause").setAttribute("aria-pressed", String(isPaused));
  $("pause").textContent = isPaused ? "Resume" : "Pause";
  const isLost = $("status").dataset.state === "lost";
  if (!isLost && state.id !== null) say(isPaused ? "paused" : $("status").dataset.state === "paused" ? "live" : $("status").dataset.state);
  if (!isPaused && state.waiting.length) take(state.waiting.splice(0));
}

function markFollow(isFollowing) {
  $("follow").setAttribute("aria-pressed", String(isFollowing));
}

/* ---- what is drawn ---- */

function draw() {
  const { answers, about } = state;
  const last = answers.at(-1);
  state.ahead = stillAhead(state.ahead, last);
  const unit = about?.unit ? ` ${about.unit}` : "";
  $("title").textContent = about?.title ?? state.id ?? "";
  $("subtitle").textContent = subtitle(last);
  chart.show(answers, state.ahead);
  figures(last, unit);
  later("calibration", drawCalibration, 500);
  later("events", drawEvents, 300);
  later("tables", drawTables, 500);
  if (last) later("sentence", sentence, $("sentence").textContent ? SENTENCE_EVERY : 0);
  if (!state.isStatic) document.title = `${heatOf(last) === 2 ? "● " : ""}${number(last?.y)}${unit} ${about?.title ?? state.id}`;
}

/* A forecast without the steps that have become the past since it was made. */
function stillAhead(ahead, last) {
  const n = ahead?.at && last ? ahead.at.filter((at) => at <= last.at).length : 0;
  if (n === 0) return ahead;
  return Object.fromEntries(Object.entries(ahead).map(([name, each]) => [name, Array.isArray(each) ? each.slice(n) : each]));
}

function subtitle(last) {
  if (!last) return state.isStatic ? "" : "no observations yet";
  const id = state.about?.title && state.about.title !== state.id ? `${state.id}, ` : "";
  const n = state.learned?.n_learned;
  return `${id}${moment(last.time)}${n ? `, ${n.toLocaleString("en")} observations learned` : ""}`;
}

function figures(last, unit) {
  const wide = (low, high) => element("small", {}, ` ${number(low)} to ${number(high)}`);
  $("last").textContent = last ? `${number(last.y)}${unit}` : "–";
  const ahead = state.ahead;
  $("next").replaceChildren(ahead?.mean?.length ? `${number(ahead.mean[0])}${unit}` : "–");
  if (ahead?.lower_90?.length) $("next").append(wide(ahead.lower_90[0], ahead.upper_90[0]));
  $("surprise").replaceChildren(element("span", { class: "chip", "data-heat": heatOf(last) }, surpriseWords(last)));
}

function sentence() {
  const last = state.answers.at(-1);
  if (!last || state.isPaused) return;
  const expected = typeof last.lower_90 === "number" ? `, forecast ${number(last.mean)}, ${number(last.lower_90)} to ${number(last.upper_90)}` : "";
  const changed = last.change ? ` The ${last.change} has changed.` : "";
  $("sentence").textContent = `${moment(last.time)}: ${number(last.y)}, ${surpriseWords(last)}${expected}.${changed}`;
}

function drawList(found) {
  state.only = found.n_series === 1 ? found.series[0]?.id : null;
  const shown = found.series.length;
  $("list-heading").textContent = shown < found.n_found
    ? `The ${shown} most unusual of ${found.n_found.toLocaleString("en")} series`
    : `${shown.toLocaleString("en")} series, the most unusual first`;
  const before = new Map([...$("ranking").children].map((item) => [item.dataset.id, item]));
  const items = found.series.map((each) => listed(each, before.get(each.id)));
  const isSame = items.length === before.size && items.every((item, i) => $("ranking").children[i] === item);
  if (!isSame) {
    const focused = document.activeElement;
    $("ranking").replaceChildren(...items);
    if (focused?.closest?.("#ranking")) focused.focus({ preventScroll: true });
  }
}

/* One line of the list; its element stays the same, so that nobody's focus is lost. */
function listed(series, before) {
  const item = before ?? element("li", {}, element("a", { class: "item" }));
  item.dataset.id = series.id;
  const link = item.firstChild;
  const isNewlyChanged = series.changed && series.rows_since_change <= 20;
  link.href = `#/series/${encodeURIComponent(series.id)}`;
  link.dataset.heat = String(series.unusual > 2 || heatOf(series.last) === 2 ? 2 : series.unusual > 1.4 || isNewlyChanged ? 1 : 0);
  link.setAttribute("aria-current", String(series.id === state.id));
  const value = `${number(series.last?.y)}${series.unit ? ` ${series.unit}` : ""}`;
  link.replaceChildren(
    element("span", { class: "item-name" }, series.title ?? series.id,
      ...(isNewlyChanged ? [element("span", { class: "badge", title: `the ${series.changed} has changed` }, series.changed)] : [])),
    element("span", { class: "item-note" }, `${value} · unusual ${series.unusual.toFixed(1)}`),
    sparkline(series.spark ?? []),
  );
  return item;
}

function drawCalibration() {
  const all = coverageOfAll(state.answers);
  if (all.n < 20) {
    $("coverage-text").textContent = "After some 20 observations this says how many lay within their intervals.";
    $("coverage").replaceChildren();
    $("pit").replaceChildren();
    return;
  }
  $("coverage-text").textContent = `The 90 % intervals held ${percent(all.c90)} of ${all.n.toLocaleString("en")} observations, the 50 % ones ${percent(all.c50)}.`;
  $("coverage").replaceChildren(coveragePicture(coverageOverTime(state.answers)));
  $("pit").replaceChildren(probabilityPicture(probabilityCounts(state.answers)));
}

function drawLearned() {
  const found = state.learned;
  $("learned-card").hidden = !found;
  if (!found) return;
  const facts = [];
  const range = (each) => `${number(each.median)}  (${number(each.lower)} to ${number(each.upper)})`;
  if (found.level) facts.push(["level", range(found.level)], ["slope a step", range(found.slope)]);
  if (typeof found.next_sd === "number") facts.push(["noise", `sd ${number(found.next_sd, 3)} of the next value`]);
  if (found.period) facts.push(["season", found.period.split(";")[0].replace(/^([\d, .]+):/, "every $1 steps,")]);
  if (found.weights) facts.push(["weights", found.weights.map((each) => number(each, 3)).join(", ")]);
  for (const [name, value] of Object.entries(found.learned ?? {})) facts.push([name.replaceAll("_", " "), typeof value === "number" ? number(value) : String(value)]);
  $("learned").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  const season = Object.entries(found.seasons ?? {}).find(([, each]) => each.median.some((value) => value !== 0) && each.median.length > 2);
  $("season").replaceChildren(...(season ? [seasonPicture(...season)] : []));
  const shares = Object.entries(found.shares ?? {}).slice(0, 5);
  $("shares").replaceChildren(...shares.map(([name, share]) => bar(name, share)));
  $("subtitle").textContent = subtitle(state.answers.at(-1));
}

function bar(name, share) {
  const fill = element("i", { "aria-hidden": "true" });
  fill.style.width = percent(share).replace(" ", "");
  return element("li", {}, fill, element("span", {}, name), element("span", {}, percent(share)));
}

function drawEvents() {
  const flagged = state.answers.filter((each) => each.change || each.anomaly).slice(-8).reverse();
  const lines = flagged.map((each) => element("li", {},
    element("span", { class: each.change ? "mark mark-change" : "mark", "aria-hidden": "true" }),
    element("span", {}, each.change ? `the ${each.change} changed` : `anomaly: ${number(each.y)}, forecast ${number(each.mean)}`),
    element("time", {}, moment(each.time))));
  $("events").replaceChildren(...(lines.length ? lines : [element("li", { class: "none" }, "none so far")]));
}

const TABLES = {
  answers: () => table(["time", "observed", "forecast", "90 % from", "to", "surprise", ""], state.answers.slice(-50).reverse().map((each) => [
    moment(each.time), number(each.y), number(each.mean), number(each.lower_90), number(each.upper_90), number(each.surprise, 2),
    [each.anomaly ? "anomaly" : "", each.change ? `${each.change} changed` : ""].filter(Boolean).join(", ")])),
  forecast: () => table(["time", "step", "mean", "50 % from", "to", "90 % from", "to"], (state.ahead?.mean ?? []).map((mean, i) => [
    state.ahead.time ? moment(state.ahead.time[i]) : "", String(i + 1), number(mean),
    ...["lower_50", "upper_50", "lower_90", "upper_90"].map((name) => number(state.ahead[name]?.[i]))])),
  calibration: () => table(["up to", "within 90 %", "within 50 %"], coverageOverTime(state.answers).filter((_, i, all) => (all.length - 1 - i) % 20 === 0).reverse()
    .map((each) => [moment(each.time), percent(each.c90), percent(each.c50)])),
  shares: () => table(["structure", "share"], Object.entries(state.learned?.shares ?? {}).map(([name, share]) => [name, `${(100 * share).toFixed(1)} %`])),
};

function drawTables() {
  for (const details of document.querySelectorAll("details[data-table]")) {
    if (details.open) details.querySelector(".table").replaceChildren(TABLES[details.dataset.table]());
  }
}

/* ---- who asks ---- */

function login() {
  live.stop();
  say("connecting");
  view("login");
  $("token").focus();
}

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await ask("/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token: $("token").value.trim() }) });
    $("login-error").textContent = "";
    $("token").value = "";
    start();
  } catch (error) {
    $("login-error").textContent = error.message;
  }
});

/* ---- what a person does ---- */

$("pause").addEventListener("click", () => setPaused(!state.isPaused));
$("search").addEventListener("input", () => {
  if (document.body.dataset.view !== "list" && innerWidth < 760) location.hash = "#/";
  clearTimeout(due.get("list"));
  due.delete("list");
  later("list", loadList, 120);
});
$("horizon").addEventListener("change", () => {
  state.horizon = Number($("horizon").value);
  loadForecast();
});
chart.onFollow = markFollow;
for (const button of document.querySelectorAll("[data-zoom]")) {
  const act = { in: () => chart.scale(0.6), out: () => chart.scale(1 / 0.6), follow: () => chart.follow() }[button.dataset.zoom];
  button.addEventListener("click", act);
}
for (const button of document.querySelectorAll("[data-window]")) {
  button.addEventListener("click", () => setWindow(button.dataset.window));
}

function setWindow(text) {
  chart.window = text === "all" ? "all" : Number(text);
  for (const each of document.querySelectorAll("[data-window]")) each.setAttribute("aria-pressed", String(each.dataset.window === text));
  chart.follow();
}

for (const details of document.querySelectorAll("details[data-table]")) details.addEventListener("toggle", drawTables);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape" && state.nSeries > 1 && !state.isStatic) location.hash = "#/";
  if (isTyping) return;
  if (event.key === "/" && !state.isStatic) {
    event.preventDefault();
    $("search").focus();
  }
  if (event.key === " " && event.target.tagName !== "BUTTON" && event.target.tagName !== "SUMMARY" && !$("pause").hidden) {
    event.preventDefault();
    setPaused(!state.isPaused);
  }
});
addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => document.hidden || later("list", loadList, 0));

/* ---- the beginning ---- */

/* A file that holds its own data needs no server. */
function showStatic(data) {
  Object.assign(state, { isStatic: true, id: data.title, about: { id: data.title, title: data.title, unit: data.unit ?? null },
    answers: data.answers, ahead: data.forecast, learned: data.learned, nSeries: 1 });
  document.body.dataset.static = "true";
  view("series");
  say("still");
  for (const id of ["foot-links", "foot-keys"]) $(id).hidden = true;
  $("status").hidden = true;
  document.querySelector(".choice").hidden = true;
  const hasForecasts = data.answers.some((each) => typeof each.mean === "number");
  document.querySelector(".cards").hidden = !hasForecasts;
  $("surprise").parentElement.hidden = !hasForecasts;
  $("next").parentElement.hidden = !data.forecast;
  draw();
  drawLearned();
}

async function start() {
  $("empty-code").textContent = `curl -d '{"id": "load", "y": 1.5}' -H 'content-type: application/json' ${location.origin}/observations`;
  view("loading");
  await loadList();
  if (document.body.dataset.view !== "login") route();
}

setWindow("300");
const embedded = $("data");
if (embedded) showStatic(JSON.parse(embedded.textContent));
else start();
