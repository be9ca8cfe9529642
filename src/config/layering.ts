import { oneLine } from "../lib/oneLine.js";
import { checkConfig, likelyKey } from "./check.js";
import type { ConfigFile } from "./configFile.js";
import { ConfigInvalid } from "./errors.js";
import { type FoundProfile, Profiles } from "./profiles.js";
import { ProjectLayers } from "./projectLayers.js";
import { effectiveOutsideProfiles } from "./recordedNotices.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { mergeTrees, tableAt, textAt } from "./tree.js";

/** All layers, merged and checked. */
export interface LayeredSettings {
  /** The layer of config.toml: the same object while the file is unchanged. */
  readonly ofFile: ConfigTree;
  readonly settings: ConfigTree;
  /** The same without config.toml, for an engine that reads that file itself. */
  readonly besideFile: ConfigTree;
  readonly notices: readonly string[];
  /** For the caller: the unknown keys of its own configuration. */
  readonly callNotice?: string;
}

interface LayeringOptions {
  /** config.toml. */
  readonly file: ConfigFile;
  readonly codexHome: string;
  /** The value of `~`. */
  readonly home: string;
  readonly commandLine: ConfigTree;
  /** Unknown keys are errors. */
  readonly strict: boolean;
  /** Unreadable values are left to the engine, which reads the files too. */
  readonly tolerant: boolean | undefined;
  /** Folders that the user trusts may contribute settings. */
  readonly withProjects: boolean;
  /** A setting has an effect only where it had one in Codex 0.92.0. */
  readonly asRecorded: boolean | undefined;
}

/** Merges the layers of settings; later ones win: config.toml, the profile, the project, the command line, the call. */
export class Layering {
  readonly #options: LayeringOptions;
  readonly #profiles: Profiles;
  readonly #projects: ProjectLayers;
  /** The latest result: most calls have the same settings over the same files. */
  #latest: { readonly from: readonly unknown[]; readonly layered: LayeredSettings } | undefined;

  constructor(options: LayeringOptions) {
    this.#options = options;
    this.#profiles = new Profiles(options);
    this.#projects = new ProjectLayers(options);
  }

  /** The settings of a call in a folder, or of the server itself. Throws `ConfigInvalid`. */
  under(call: ConfigTree, cwd?: string): LayeredSettings {
    const { commandLine, withProjects } = this.#options;
    const file = this.#options.file.read();
    const chosen = [call, commandLine, file].map((tree) => textAt(tree, "profile")).find((name) => name !== undefined);
    const profile = chosen === undefined ? undefined : this.#profiles.read(chosen);
    const own = profile ? mergeTrees(file, profile) : file;
    const trusts = withProjects && cwd !== undefined && [own, commandLine, call].some(trustsFolders);
    const projects = trusts ? this.#projects.around(cwd, mergeTrees(own, commandLine, call)) : [];
    const from = [file, profile, call, ...projects];
    const { from: before = [], layered } = this.#latest ?? {};
    if (layered && before.length === from.length && from.every((tree, at) => tree === before[at])) return layered;
    const made = this.#lay({ file, call, chosen, profile, projects });
    this.#latest = { from, layered: made };
    return made;
  }

  /** The profiles that have a file. */
  profiles(): readonly FoundProfile[] {
    return this.#profiles.examine();
  }

  #lay({ file, call, chosen, profile: fromFile, projects }: LayersOfCall): LayeredSettings {
    const { commandLine, strict, asRecorded } = this.#options;
    const stated = mergeTrees(file, commandLine, call);
    checkConfig(stated, { partial: true });
    const profile = chosen === undefined ? undefined : this.#profiles.layer(chosen, fromFile, stated);
    const effective = asRecorded ? effectiveOutsideProfiles : (tree: ConfigTree) => tree;
    const explicit = [...projects.map(({ settings }) => settings), commandLine, call].map(effective);
    const besideFile = mergeTrees(profile?.settings ?? {}, ...explicit);
    const settings = mergeTrees(effective(file), besideFile);
    // A profile in config.toml is checked with that file, in `stated`. A profile with a file of its own may add what config.toml lacks, so the
    // merged settings are checked.
    const { unknownKeys } = checkConfig(fromFile || projects.length > 0 ? settings : stated);
    const left = this.#options.file.passedOver.map((key) => `the value of \`${key}\` in config.toml is unknown here and left to Codex`);
    return {
      ofFile: file,
      settings,
      besideFile,
      ...(unknownKeys.length > 0 && noticeOfCall(checkConfig(call, { partial: true }).unknownKeys)),
      notices: [
        ...noticesOfUnknown(unknownKeys, { strict }),
        ...left,
        ...(profile?.notices ?? []),
        ...projects.flatMap(({ notices }) => notices),
      ],
    };
  }
}

interface LayersOfCall {
  readonly file: ConfigTree;
  readonly call: ConfigTree;
  /** The profile's name and the content of its file. */
  readonly chosen: string | undefined;
  readonly profile: ConfigTree | undefined;
  readonly projects: ReturnType<ProjectLayers["around"]>;
}

/** Whether the settings trust any folder. Most users trust none, and then no folder is examined. */
function trustsFolders(tree: ConfigTree): boolean {
  const projects = tableAt(tree, "projects");
  return Object.keys(projects).some((folder) => textAt(tableAt(projects, folder), "trust_level") === "trusted");
}

function noticeOfCall(keys: readonly string[]): { readonly callNotice?: string } {
  if (keys.length === 0) return {};
  const named = keys.slice(0, MOST_KEYS_NAMED).map((key) => {
    const meant = likelyKey(key);
    return `\`${oneLine(key, LONGEST_KEY)}\`${meant === undefined ? "" : ` (did you mean \`${meant}\`?)`}`;
  });
  const more = keys.length > MOST_KEYS_NAMED ? ` and ${keys.length - MOST_KEYS_NAMED} more` : "";
  return { callNotice: `Unknown keys in \`config\` had no effect: ${named.join(", ")}${more}.` };
}

const MOST_KEYS_NAMED = 5;
const LONGEST_KEY = 60;

function noticesOfUnknown(keys: readonly string[], { strict }: { strict: boolean }): readonly string[] {
  const notices = keys.map((key) => `unknown configuration key \`${key}\``);
  if (strict && notices.length > 0) throw new ConfigInvalid(notices.join("; "));
  return notices;
}
