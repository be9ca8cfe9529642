import path from "node:path";
import type { SandboxPolicy } from "../../../exec/policies.js";
import type { HiddenPlace } from "../../../exec/sandbox/hiddenPlaces.js";
import type { Fields } from "../../../lib/fields.js";
import { isInside, resolvedAsFarAsPossible } from "../../../platform/paths.js";
import { CodexRefused } from "../errors.js";

export type EnforcedPolicy = Exclude<SandboxPolicy, { type: "danger-full-access" }>;

export interface ProfileRules {
  readonly policy: EnforcedPolicy;
  /** Where the commands run. */
  readonly cwd: string;
  /** All that may be read besides. */
  readonly readable: readonly string[];
  readonly hidden: readonly HiddenPlace[];
  /** Real paths that are not written even where a folder around them is. */
  readonly readOnly: readonly string[];
  /** The Codex program, which is what Codex's sandbox starts first. */
  readonly program: string;
  readonly codexHome: string;
  /** The only place for temporary files; absent where the machine's are shared. */
  readonly tmp?: string | undefined;
}

/** Codex reads these in a path as a pattern, and takes patterns for refusals only. */
const PATTERN = /[*?[\]{}]/;

/** Links to Codex's own program, which its sandbox starts first. Not every version shows them to single commands by itself. */
const HELPERS = ["tmp/arg0", "tmp/arg0-linux"];

/** An entry of Codex's `permissions`: what commands may read, write and reach, as a list of what is open. */
export function permissionProfile(rules: ProfileRules): Fields {
  const { policy, readable, program, tmp } = rules;
  const roots = writtenRoots(rules);
  const open = [resolvedAsFarAsPossible(rules.cwd), ...roots];
  requireHomeOutside(open, rules.codexHome);
  const helpers = HELPERS.map((folder) => path.join(rules.codexHome, folder));
  const shown = [":minimal", ...readable.filter((place) => !PATTERN.test(place)), packageOf(program), ...helpers, ...open];
  // Of two words about one place the later one counts.
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

function writtenRoots({ policy, cwd }: ProfileRules): string[] {
  if (policy.type === "read-only") return [];
  return [cwd, ...(policy.writable_roots ?? [])].map((root) => resolvedAsFarAsPossible(path.resolve(cwd, root)));
}

function requireHomeOutside(open: readonly string[], codexHome: string): void {
  const folder = open.find((place) => isInside(codexHome, place));
  if (folder === undefined) return;
  throw new CodexRefused(
    `${folder} cannot be opened to callers by this Codex: it holds CODEX_HOME (${codexHome}), which has to stay hidden. ` +
      "Choose a folder below it, start the server with a CODEX_HOME elsewhere, or use --engine native.",
  );
}

/** A published program lies in a folder with what it needs. */
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
