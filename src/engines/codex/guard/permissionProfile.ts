import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { SHARED_FOLDERS } from "../../../exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../../exec/policies.js";
import { objectionTo, type WorkPlaces } from "../../../exec/sandbox/fileView.js";
import { type HiddenPlace, isVisible, type VisibleFiles } from "../../../exec/sandbox/hiddenPlaces.js";
import type { Fields } from "../../../lib/fields.js";
import { isBelow, isInside, resolvedAsFarAsPossible } from "../../../platform/paths.js";
import { CodexRefused } from "../appServer/errors.js";

export type EnforcedPolicy = Exclude<SandboxPolicy, { type: "danger-full-access" }>;

export interface ProfileRules {
  readonly policy: EnforcedPolicy;
  /** The commands' working folder. */
  readonly cwd: string;
  /** Everything else that may be read. */
  readonly readable: readonly string[];
  readonly hidden: readonly HiddenPlace[];
  /** Real paths that stay read-only even inside a writable folder. */
  readonly readOnly: readonly string[];
  /** The Codex program, which Codex's sandbox starts first. */
  readonly program: string;
  readonly codexHome: string;
  /** Where the caller may work. */
  readonly places?: WorkPlaces | undefined;
  /** The only place for temporary files; absent where the machine's are shared. */
  readonly tmp?: string | undefined;
}

/** Codex interprets these characters in a path as a pattern, and supports patterns only in denials. */
const PATTERN = /[*?[\]{}]/;

/** Links to Codex's own program, which its sandbox starts first. Not every version shows them to single commands by itself. */
const HELPERS = ["tmp/arg0", "tmp/arg0-linux"];

/** An entry of Codex's `permissions`: a list of what commands may read, write and reach. */
export function permissionProfile(rules: ProfileRules): Fields {
  const { policy, readable, program, tmp } = rules;
  const workspace = resolvedAsFarAsPossible(rules.cwd);
  const further = furtherRoots(rules);
  requireOwn({ workspace, further }, rules);
  const roots = rules.policy.type === "read-only" ? [] : [workspace, ...further.map(({ root }) => root)];
  const open = [workspace, ...roots];
  requireHomeOutside(open, rules.codexHome);
  const helpers = HELPERS.map((folder) => path.join(rules.codexHome, folder));
  const shown = [":minimal", ...readable.filter((place) => !PATTERN.test(place)), packageOf(program), ...helpers, ...open];
  // If two entries concern one place, the later one wins.
  const filesystem = {
    ...each(shown, "read"),
    ...each([...roots, ...temporary(policy, tmp)], "write"),
    ...each(within(roots, rules.readOnly), "read"),
    ...each(within(open, rules.hidden.flatMap(secretsOf)), "deny"),
  };
  return { filesystem, network: { enabled: policy.type === "workspace-write" && policy.network_access } };
}

function each(places: readonly string[], access: "read" | "write" | "deny"): Fields {
  return Object.fromEntries(places.map((place) => [place, access]));
}

function furtherRoots({ policy, cwd }: ProfileRules): { readonly given: string; readonly root: string }[] {
  if (policy.type === "read-only") return [];
  return (policy.writable_roots ?? []).map((given) => ({ given, root: resolvedAsFarAsPossible(path.resolve(cwd, given)) }));
}

/** The links on these paths may have been changed since the request was checked. */
function requireOwn(
  { workspace, further }: { readonly workspace: string; readonly further: ReturnType<typeof furtherRoots> },
  { cwd, places = {} }: ProfileRules,
): void {
  const isElsewhere = places.workRoots?.some((folder) => isInside(workspace, folder)) === false;
  if (isElsewhere) throw new CodexRefused(`${cwd} is not in a folder that this caller may work in.`);
  for (const root of further) {
    const objection = root.root === workspace ? undefined : objectionTo(root, places);
    if (objection !== undefined) throw new CodexRefused(`${root.given} ${objection}.`);
  }
}

function requireHomeOutside(open: readonly string[], codexHome: string): void {
  const folder = open.find((place) => isInside(codexHome, place));
  if (folder === undefined) return;
  throw new CodexRefused(
    `${folder} cannot be opened to callers by this Codex: it holds CODEX_HOME (${codexHome}), which must stay hidden. ` +
      "Choose a folder below it, start the server with a CODEX_HOME elsewhere, or use --engine native.",
  );
}

/** A published program lies in a folder with everything it needs. */
function packageOf(program: string): string {
  const folder = path.dirname(path.dirname(program));
  return path.basename(path.dirname(folder)) === "vendor" ? folder : program;
}

function temporary(policy: EnforcedPolicy, tmp: string | undefined): string[] {
  if (tmp !== undefined) return [tmp];
  if (policy.type === "read-only") return [];
  return [...(policy.exclude_slash_tmp ? [] : [":slash_tmp"]), ...(policy.exclude_tmpdir_env_var ? [] : [":tmpdir"])];
}

function within(folders: readonly string[], files: readonly string[]): string[] {
  return files.filter((file) => !PATTERN.test(file) && folders.some((folder) => isInside(file, folder)));
}

function secretsOf({ folder, names }: HiddenPlace): string[] {
  return names === undefined ? [folder] : names.map((name) => path.join(folder, name));
}

/** Codex's sandbox creates its own. */
const MADE_BY_SANDBOX = ["/proc", "/dev"];
/** Each becomes a mount for every command. */
const MOST_PLACES = 2_000;

/**
 * The largest places without hidden content: together they are everything that may be read. Codex's sandbox shows only the places it is
 * given, so everything beside them stays invisible, even if it is created or replaced later.
 */
export async function readablePlaces(files: VisibleFiles): Promise<string[]> {
  const places = [...new Set(await opened("/", files))].filter((place) => !MADE_BY_SANDBOX.includes(place));
  if (places.length > MOST_PLACES)
    throw new CodexRefused(
      `The folders around what is hidden from callers have ${places.length} entries, more than Codex's sandbox accepts (${MOST_PLACES}). ` +
        "Keep CODEX_HOME, token and key files in folders with fewer neighbours, or use --engine native.",
    );
  return places.filter((place) => !places.some((other) => isBelow(place, other)));
}

async function opened(folder: string, files: VisibleFiles): Promise<string[]> {
  const { hidden, shown } = files;
  if (hidden.some((place) => place.folder === folder && place.names === undefined))
    return all(shown.filter((place) => isBelow(place, folder)).map((place) => opened(place, files)));
  if (!hidden.some((place) => isInside(place.folder, folder))) return [folder];
  const secret = hidden.flatMap((place) => (place.folder === folder ? (place.names ?? []) : []));
  const entries = (await entriesOf(folder)).filter(({ name }) => !secret.includes(name) && isSteady(path.join(folder, name), files));
  return all(entries.map((entry) => openedEntry(path.join(folder, entry.name), entry, files)));
}

/** Files in shared folders come and go, and mounting one that is just gone would fail the command. */
function isSteady(file: string, { hidden }: VisibleFiles): boolean {
  return !SHARED_FOLDERS.some((folder) => folder === path.dirname(file)) || hidden.some(({ folder }) => isInside(folder, file));
}

async function openedEntry(file: string, entry: Dirent, files: VisibleFiles): Promise<string[]> {
  if (entry.isSymbolicLink()) return leadsToNothingHidden(file, files) ? [file] : [];
  if (entry.isDirectory()) return opened(file, files);
  return entry.isFile() ? [file] : [];
}

function leadsToNothingHidden(link: string, files: VisibleFiles): boolean {
  const real = resolvedAsFarAsPossible(link);
  return isVisible(files, real) && !files.hidden.some(({ folder }) => isInside(folder, real));
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    // A folder that the server's user cannot list is not accessible to commands either.
    return [];
  }
}

async function all(lists: readonly Promise<string[]>[]): Promise<string[]> {
  return (await Promise.all(lists)).flat();
}
