import type { SoakReport } from "./soak.js";

/** What a soak left behind, as sentences; empty if it passed. Memory may grow by the factor `memoryMargin`. */
export function complaints(
  { failures, sessionsLeft, before, after }: SoakReport,
  { memoryMargin }: { readonly memoryMargin: number },
): string[] {
  return [
    ...failures,
    ...(sessionsLeft > 0 ? [`${sessionsLeft} sessions did not end`] : []),
    ...(after.children > 0 ? [`${after.children} processes still run`] : []),
    ...differences("active resources", before.resources, after.resources),
    ...differences("file descriptors", byKind(before.descriptors), byKind(after.descriptors)),
    ...(after.rss > before.rss * memoryMargin ? [`RSS grew from ${before.rss} to ${after.rss} bytes`] : []),
  ];
}

type Counts = Readonly<Record<string, number>>;

function differences(what: string, before: Counts, after: Counts): string[] {
  return Object.entries(after).flatMap(([kind, count]) => {
    const had = Math.max(before[kind] ?? 0, ALLOWED[kind] ?? 0);
    return count > had ? [`${what}: ${count} of ${kind}, where there may be ${had}`] : [];
  });
}

const PIPE_FOR_COMMANDS = "pipes kept for commands to come";
/** The number of pipes that the server keeps for later commands. */
const ALLOWED: Counts = { [PIPE_FOR_COMMANDS]: 32 };

function byKind(descriptors: readonly string[]): Counts {
  const counts: Record<string, number> = {};
  for (const kind of descriptors.map(kindOf)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Descriptors such as `socket:[123]` are grouped by kind; files are counted by path. */
function kindOf(descriptor: string): string {
  return /\/codex-mcpd-\w+\/\d+ \(deleted\)$/.test(descriptor) ? PIPE_FOR_COMMANDS : descriptor.replace(/:\[.*$/, "");
}
