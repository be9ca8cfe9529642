const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${(Math.max(0, ms) / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${two(Math.floor((ms % MINUTE) / SECOND))} s`;
  return `${Math.floor(ms / HOUR)} h ${two(Math.floor((ms % HOUR) / MINUTE))} min`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

/** `now`, `5 min`, `3 h`, `2 d`, then the date. */
export function ago(time: string, now = Date.now()): string {
  const ms = now - Date.parse(time);
  if (ms < MINUTE) return "now";
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  if (ms < 7 * DAY) return `${Math.floor(ms / DAY)} d`;
  return new Date(time).toLocaleDateString();
}

/** The same in one unit, for lists: `12 s`, `3 min`, `2 h`. */
export function roughly(ms: number): string {
  return ms < MINUTE
    ? `${Math.floor(Math.max(0, ms) / SECOND)} s`
    : ms < HOUR
      ? `${Math.floor(ms / MINUTE)} min`
      : `${Math.floor(ms / HOUR)} h`;
}

/** The time left: `29 min`; below two minutes with seconds, `1 min 20 s`. */
export function remaining(ms: number): string {
  return ms < 2 * MINUTE
    ? duration(ms)
    : ms < HOUR
      ? `${Math.ceil(ms / MINUTE)} min`
      : `${Math.floor(ms / HOUR)} h ${two(Math.floor((ms % HOUR) / MINUTE))} min`;
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

/** `840`, `12.3k`, `4.1M`. */
export function count(number: number): string {
  if (Math.abs(number) < 1_000) return Number.isInteger(number) ? String(number) : number.toFixed(1);
  if (Math.abs(number) < 1_000_000) return `${(number / 1_000).toFixed(number < 10_000 ? 1 : 0)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

export function bytes(number: number): string {
  return number < 1024 * 1024 ? `${Math.round(number / 1024)} KiB` : `${(number / 1024 / 1024).toFixed(0)} MiB`;
}

export function money(usd: number): string {
  return `$${usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

/** A path relative to a folder, if it is inside. */
export function pathFrom(folder: string | null, path: string): string {
  const inside = folder === null || folder === "" ? undefined : `${folder.replace(/\/+$/, "")}/`;
  return inside !== undefined && path.startsWith(inside) && path.length > inside.length ? path.slice(inside.length) : path;
}

/** What a turn does, with the paths in it relative to its folder. */
export function stepFrom(folder: string, step: string): string {
  if (folder === "" || folder === "/") return step;
  const inside = `${folder.replace(/\/+$/, "")}/`;
  // `/app/` is also a part of `/srv/app/x`.
  return step.split(inside).reduce((text, rest) => (/[\w./~-]$/.test(text) ? `${text}${inside}${rest}` : `${text}${rest}`));
}

/** The last part of a path. */
export function folderName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) || path || "no folder";
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
