import { ALLOWED } from "../architecture/layout.js";

/** Where the story ends: what sends the bytes is a tool of this room. */
const MODEL_ROOM = "src/engines/native/model/";
/** Plumbing without a story of its own. */
const LIBRARY = "src/lib/";
/** Calls against the imports: whoever reads messages hands them to the protocol it was opened with, and the domain calls those who implement its contracts. */
const CONTRACTS: Readonly<Record<string, readonly string[]>> = { jsonrpc: ["mcp"], http: ["mcp"], threads: ["engines", "stores"] };

/** The files of a chain of calls in order: neighbours once, no library, up to the client of the model. */
export function spineFiles(files: readonly string[]): string[] {
  const told = files.filter((file) => !file.startsWith(LIBRARY));
  const neighbours = told.filter((file, index) => file !== told[index - 1]);
  const model = neighbours.findIndex((file) => file.startsWith(MODEL_ROOM));
  return model < 0 ? neighbours : neighbours.slice(0, model + 1);
}

/** Places at which a spine comes back to a file, or goes to a folder above the one it comes from. */
export function climbs(spine: readonly string[]): number[] {
  return spine.flatMap((file, index) => {
    const from = spine[index - 1];
    const isUp = from !== undefined && (spine.indexOf(file) < index || !leadsDown(partOf(from), partOf(file)));
    return isUp ? [index] : [];
  });
}

/** The numbered list of the page: the first file of each line. */
export function documentedSpine(page: string): string[] {
  const [, section = ""] = page.split(/^## One `tools\/call`.*$/m);
  const [list = ""] = section.split(/^## /m);
  return [...list.matchAll(/^\d+\. `(src\/[^`]+)`/gm)].map(([, file = ""]) => file);
}

function leadsDown(from: string, to: string): boolean {
  return from === to || ALLOWED[from]?.includes(to) === true || CONTRACTS[from]?.includes(to) === true;
}

function partOf(file: string): string {
  return file.split("/")[1] ?? file;
}
