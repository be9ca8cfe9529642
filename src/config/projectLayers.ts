import { statSync } from "node:fs";
import path from "node:path";
import { describe, errorCode } from "../lib/errors.js";
import { ReadRefused } from "../lib/files/readRefused.js";
import { readSmallFile } from "../lib/files/smallFile.js";
import { foldersBetween, isBelow, isThere, resolveLinks } from "../platform/paths.js";
import { checkConfig } from "./check.js";
import { parseConfig, understoodPart } from "./configFile.js";
import { complainingAbout } from "./errors.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { trustOf } from "./threadSettings.js";
import { isTree, textsAt, withValueAt } from "./tree.js";

/** Far more than a project needs. */
const LARGEST = 256 * 1024;
const MOST_REMEMBERED = 64;

/**
 * The settings that a repository may contribute. They name no program, URL, key or file outside it, and they widen no rights: a user who
 * trusts a folder has not read what future committers will write.
 */
const TAKEN: ReadonlySet<string> = new Set([
  "approval_policy",
  "compact_prompt",
  "developer_instructions",
  "features",
  "hide_agent_reasoning",
  "model",
  "model_auto_compact_token_limit",
  "model_context_window",
  "model_personality",
  "model_reasoning_effort",
  "model_reasoning_summary",
  "model_supports_reasoning_summaries",
  "model_verbosity",
  "personality",
  "project_doc_max_bytes",
  "sandbox_mode",
  "show_raw_agent_reasoning",
  "tool_output_token_limit",
  "web_search",
]);

/** Only features that select the model's tools: others enable running programs, or disable restrictions of the agent. */
const TAKEN_FEATURES: ReadonlySet<string> = new Set([
  "apply_patch_freeform",
  "shell_tool",
  "unified_exec",
  "web_search_cached",
  "web_search_request",
]);

/** The accepted part of one `.codex/config.toml`. */
interface ProjectLayer {
  readonly settings: ConfigTree;
  readonly notices: readonly string[];
}

const NOTHING: ProjectLayer = { settings: {}, notices: [] };

interface ProjectLayersOptions {
  readonly codexHome: string;
  /** Skips values it cannot read; the engine reads them itself. */
  readonly tolerant?: boolean | undefined;
}

/** The settings in projects' `.codex/config.toml`. Only folders that the user's own configuration trusts count. */
export class ProjectLayers {
  readonly #options: ProjectLayersOptions;
  readonly #known = new Map<string, { readonly version: string; readonly layer: ProjectLayer }>();

  constructor(options: ProjectLayersOptions) {
    this.#options = options;
  }

  /**
   * The layers of the project around a folder, outermost first. `own` are the user's settings. Throws `ConfigInvalid` for an invalid file.
   */
  around(cwd: string, own: ConfigTree): readonly ProjectLayer[] {
    return foldersOf(cwd, textsAt(own, "project_root_markers") ?? [".git"])
      .filter((folder) => trustOf(folder, own) === "trusted")
      .map((folder) => this.#layerOf(folder))
      .filter((layer) => layer !== NOTHING);
  }

  #layerOf(folder: string): ProjectLayer {
    const file = path.join(folder, ".codex", "config.toml");
    const stats = statsOf(file);
    // In the home folder, `.codex` is the user's own.
    if (!stats || resolveLinks(path.dirname(file)) === resolveLinks(this.#options.codexHome)) return NOTHING;
    const version = `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
    const known = this.#known.get(file);
    if (known?.version === version) return known.layer;
    const layer = this.#load(file, folder);
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    this.#known.set(file, { version, layer });
    return layer;
  }

  #load(file: string, folder: string): ProjectLayer {
    const root = resolveLinks(folder) ?? folder;
    let content: string;
    try {
      content = readSmallFile(file, { maxBytes: LARGEST, mayRead: (real) => isBelow(real, root) });
    } catch (error) {
      return { settings: {}, notices: [`${file} is not read: ${reasonOf(error)}`] };
    }
    return this.#taken(parseConfig(file, content), file);
  }

  #taken(written: ConfigTree, file: string): ProjectLayer {
    const { settings, refused } = withoutRefused(written);
    const notices = refused.length === 0 ? [] : [`ignored in ${file}, which a project may not set: ${refused.join(", ")}`];
    if (this.#options.tolerant) return { settings: understoodPart(settings).tree, notices };
    complainingAbout(`error loading config: ${file}`, () => checkConfig(settings, { partial: true }));
    return { settings, notices };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ReadRefused)) return errorCode(error) ?? describe(error);
  return error.reason === "hidden" ? "it is a link out of its folder" : error.message;
}

function withoutRefused(written: ConfigTree): { settings: ConfigTree; refused: readonly string[] } {
  const refused: string[] = [];
  const taken = (tree: ConfigTree, isTaken: (key: string, value: unknown) => boolean, prefix = ""): ConfigTree => {
    let kept: ConfigTree = {};
    for (const [key, value] of Object.entries(tree)) {
      if (isTaken(key, value)) kept = withValueAt(kept, [key], value);
      else refused.push(`\`${prefix}${key}\``);
    }
    return kept;
  };
  const settings = taken(written, (key, value) => TAKEN.has(key) && !(key === "sandbox_mode" && value === "danger-full-access"));
  const { features } = settings;
  if (!isTree(features)) return { settings, refused };
  const tools = taken(features, (key) => TAKEN_FEATURES.has(key), "features.");
  return { settings: withValueAt(settings, ["features"], tools), refused };
}

/** The folders from the project's root, which has one of the markers, down to this one. Without a project, only this folder. */
function foldersOf(cwd: string, markers: readonly string[]): readonly string[] {
  for (let folder = cwd; ; folder = path.dirname(folder)) {
    if (markers.some((marker) => isThere(path.join(folder, marker))))
      return [folder, ...foldersBetween(folder, cwd), ...(folder === cwd ? [] : [cwd])];
    if (folder === path.dirname(folder)) return [cwd];
  }
}

function statsOf(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
