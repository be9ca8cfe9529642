import path from "node:path";
import { checkConfig } from "./check.js";
import { ConfigFile } from "./configFile.js";
import { ConfigInvalid } from "./errors.js";
import { type FoundProfile, Profiles } from "./profiles.js";
import { ProjectLayers } from "./projectLayers.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { mergeTrees, tableAt, textAt } from "./tree.js";

/** Everything that was stated, laid over each other and checked. */
export interface LayeredSettings {
  readonly settings: ConfigTree;
  /** The same without config.toml: for an engine that reads that file itself. */
  readonly besideFile: ConfigTree;
  readonly notices: readonly string[];
}

interface LayeringOptions {
  readonly codexHome: string;
  /** What `~` stands for. */
  readonly home: string;
  readonly commandLine: ConfigTree;
  /** Unknown keys are errors. */
  readonly strict: boolean;
  /** Values that cannot be read are left to the engine, which reads the files too. */
  readonly tolerant: boolean | undefined;
  /** Folders that the user trusts may say something too. */
  readonly withProjects: boolean;
}

/** Lays what is said in different places over each other: config.toml, the profile, the project, the command line, the call, the later winning. */
export class Layering {
  readonly #options: LayeringOptions;
  readonly #file: ConfigFile;
  readonly #profiles: Profiles;
  readonly #projects: ProjectLayers;
  /** What was laid over each other last: most calls say the same over the same files. */
  #latest: { readonly from: readonly unknown[]; readonly layered: LayeredSettings } | undefined;

  constructor(options: LayeringOptions) {
    this.#options = options;
    this.#file = new ConfigFile(path.join(options.codexHome, "config.toml"), options);
    this.#profiles = new Profiles(options);
    this.#projects = new ProjectLayers(options);
  }

  /** Settings of a call that works in a folder, or of the server itself. Throws `ConfigInvalid`. */
  under(call: ConfigTree, cwd?: string): LayeredSettings {
    const { commandLine, withProjects } = this.#options;
    const file = this.#file.read();
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

  /** What config.toml says by itself. Throws `ConfigInvalid`. */
  readFile(): ConfigTree {
    return this.#file.read();
  }

  /** The profiles that have a file. */
  profiles(): readonly FoundProfile[] {
    return this.#profiles.examine();
  }

  #lay({ file, call, chosen, profile: fromFile, projects }: Said): LayeredSettings {
    const { commandLine, strict } = this.#options;
    const stated = mergeTrees(file, commandLine, call);
    checkConfig(stated, { partial: true });
    const profile = chosen === undefined ? undefined : this.#profiles.layer(chosen, fromFile, stated);
    const above = [profile?.settings ?? {}, ...projects.map(({ settings }) => settings), commandLine, call];
    const besideFile = mergeTrees(...above);
    const settings = mergeTrees(file, besideFile);
    // What the table of a profile says has been seen where it stands; a file may complete what config.toml left open.
    const { unknownKeys } = checkConfig(fromFile || projects.length > 0 ? settings : stated);
    const left = this.#file.passedOver.map((key) => `the value of \`${key}\` in config.toml is not known here and left to Codex`);
    return {
      settings,
      besideFile,
      notices: [
        ...noticesOfUnknown(unknownKeys, { strict }),
        ...left,
        ...(profile?.notices ?? []),
        ...projects.flatMap(({ notices }) => notices),
      ],
    };
  }
}

interface Said {
  readonly file: ConfigTree;
  readonly call: ConfigTree;
  /** The name of the profile, and what its file says. */
  readonly chosen: string | undefined;
  readonly profile: ConfigTree | undefined;
  readonly projects: ReturnType<ProjectLayers["around"]>;
}

/** Most people trust none, and then no folder is looked at. */
function trustsFolders(tree: ConfigTree): boolean {
  const projects = tableAt(tree, "projects");
  return Object.keys(projects).some((folder) => textAt(tableAt(projects, folder), "trust_level") === "trusted");
}

function noticesOfUnknown(keys: readonly string[], { strict }: { strict: boolean }): readonly string[] {
  const notices = keys.map((key) => `unknown configuration key \`${key}\``);
  if (strict && notices.length > 0) throw new ConfigInvalid(notices.join("; "));
  return notices;
}
