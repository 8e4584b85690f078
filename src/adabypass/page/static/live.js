/* The connection: questions that are answered once, and answers that come as they are made. */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 4000;
const SILENCE = 40000; /* twice what the server lets pass without a word */

export async function ask(path, options = {}) {
  const response = await fetch(path, { credentials: "same-origin", ...options });
  if (!response.ok) {
    const said = await response.json().catch(() => ({}));
    throw Object.assign(new Error(said.message ?? response.statusText), { status: response.status, code: said.error });
  }
  return response.status === 204 ? null : response.json();
}

export function seriesPath(id, what = "") {
  return `/series/${encodeURIComponent(id).replace(/\./g, "%2E")}${what}`;
}

/* Follows one series through one connection; goes on after the last answer that it knows, however often it is lost. */
export class Live {
  constructor({ onAnswers, onState, onReload }) {
    Object.assign(this, { onAnswers, onState, onReload });
    this.source = null;
    this.instance = null;
    this.wait = FIRST_WAIT;
    this.round = 0;
  }

  follow(id, after) {
    this.id = id;
    this.after = after;
    this.wait = FIRST_WAIT;
    this.open();
  }

  stop() {
    this.round += 1;
    this.source?.close();
    this.source = null;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
  }

  open() {
    this.stop();
    const series = encodeURIComponent(JSON.stringify([this.id]));
    const source = new EventSource(`/events?series=${series}&after=${this.after}`);
    this.source = source;
    source.addEventListener("hello", (event) => this.hello(JSON.parse(event.data)));
    source.addEventListener("answers", (event) => this.take(JSON.parse(event.data)));
    source.addEventListener("alive", () => this.heard());
    source.addEventListener("error", () => this.lost());
  }

  /* What the server is: another one, or one that no longer has what is missing, means to begin anew. */
  hello({ instance, newest, gap }) {
    this.wait = FIRST_WAIT;
    this.heard();
    const isOther = this.instance !== null && this.instance !== instance;
    this.instance = instance;
    if (isOther || gap || newest < this.after) this.onReload();
    else this.onState("live");
  }

  take(answers) {
    this.heard();
    const fresh = answers.filter((each) => each.number > this.after);
    if (fresh.length === 0) return;
    this.after = fresh.at(-1).number;
    this.onAnswers(fresh);
  }

  heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.lost(), SILENCE);
  }

  lost() {
    this.stop();
    this.onState("lost");
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }
}
