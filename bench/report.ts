import type { BenchCase } from "./benchCase.js";
import type { Verdict } from "./goals.js";
import type { Remark } from "./rounds.js";
import { quantile, type Samples } from "./samples.js";
import { TARGET_NAMES } from "./targets.js";

/** One case as a Markdown table that is also readable in a terminal: a row per figure, a column per server. */
export function caseTable({ name, title }: BenchCase, samples: Samples): string {
  const measured = samples.targetsOf(name);
  const targets = TARGET_NAMES.filter((target) => measured.includes(target));
  const rows = samples
    .metricsOf(name)
    .map((metric) => [metric, ...targets.map((target) => medianAndSpread(samples.values({ caseName: name, target, metric })))]);
  return `${title} (${name})\n\n${table(["", ...targets], rows)}`;
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ what, against, limit, ratio, verdict, beyondNoise }) => [
    what,
    against,
    limit,
    ratio === undefined ? "" : short(ratio),
    verdict === "missed" && !beyondNoise ? "missed, within noise" : verdict,
  ]);
  return `The goals of our server, as ratios of this run\n\n${table(["ours", "against", "limit", "ratio", "verdict"], rows)}`;
}

/** The summary, at the end, where people look first. */
export function lastLine(verdicts: readonly Verdict[]): string {
  const of = (verdict: Verdict["verdict"]) => verdicts.filter((each) => each.verdict === verdict);
  const missed = of("missed").map(({ what, against, beyondNoise }) => `${what} against ${against}${beyondNoise ? "" : " (within noise)"}`);
  const names = missed.length === 0 ? "" : `: ${missed.join("; ")}`;
  return `Goals: ${of("met").length} met, ${of("not measured").length} not measured, ${missed.length} missed${names}`;
}

/** Remarks as a list. A remark that was made in several rounds appears once. */
export function remarkLines(remarks: readonly Remark[]): string {
  return [...new Set(remarks.map(({ caseName, target, text }) => `- ${caseName}, ${target}: ${text}`))].join("\n");
}

function medianAndSpread(values: readonly number[]): string {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(values, share));
  if (low === undefined || middle === undefined || high === undefined) return "";
  return values.length > 2 && low !== high ? `${short(middle)} (${short(low)}–${short(high)})` : short(middle);
}

/** Three significant digits. */
function short(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
