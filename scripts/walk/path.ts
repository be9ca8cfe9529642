import { ALLOWED } from "../architecture/layout.js";

/** The folder of the model client, where the spine ends. */
const MODEL_ROOM = "src/engines/native/model/";
/** Library files are left out of the spine. */
const LIBRARY = "src/lib/";
/** Calls against the direction of imports: a reader passes messages to its protocol, and the domain calls the implementations of its ports. */
const CONTRACTS: Readonly<Record<string, readonly string[]>> = { jsonrpc: ["mcp"], http: ["mcp"], threads: ["engines", "stores"] };

/** The files of a call chain in order, up to the model client, without repetitions and library files. */
export function spineFiles(files: readonly string[]): string[] {
  const ours = files.filter((file) => !file.startsWith(LIBRARY));
  const neighbours = ours.filter((file, index) => file !== ours[index - 1]);
  const model = neighbours.findIndex((file) => file.startsWith(MODEL_ROOM));
  return model < 0 ? neighbours : neighbours.slice(0, model + 1);
}

/** Positions at which a spine returns to an earlier file, or goes up to a folder above. */
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
