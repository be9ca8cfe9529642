import { randomUUID } from "node:crypto";
import { constants, promises, readFileSync, renameSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, describe, errorCode } from "../lib/errors.js";
import { notPipe, parseConfig } from "./configFile.js";
import { withTexts } from "./editToml.js";
import type { ConfigTree } from "./schema/settingTypes.js";

/** `config.toml` could not be written. */
export class ConfigNotSaved extends AppError {
  readonly code = "config_not_saved";
}

export interface DefaultModel {
  /** Undefined removes it. */
  readonly model: string | undefined;
  readonly effort: string | undefined;
}

interface UserConfigOptions {
  readonly codexHome: string;
  /** The profile that the server was started with. */
  readonly profile?: string | undefined;
}

/** Other programs may save the file at the same moment, and again before the next try. */
const MOST_TRIES = 20;
const LONGEST_PAUSE_MS = 20;

/** The user's own `config.toml`: reads it for display, and changes the default model in it. */
export class UserConfig {
  readonly #options: UserConfigOptions;
  /** Serialises changes. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: UserConfigOptions) {
    this.#options = options;
  }

  /** Its settings, unchecked; empty where there is no file. Throws `ConfigInvalid`. */
  async read(): Promise<ConfigTree> {
    const file = this.#file("config.toml");
    return parseConfig(file, (await textOf(file)) ?? "");
  }

  /** Keeps comments and everything else. Throws `ConfigNotSaved`, `ConfigNotEditable`, `ConfigInvalid`. */
  setDefaultModel(wanted: DefaultModel): Promise<void> {
    const done = this.#last.then(() => this.#set(wanted));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #set({ model, effort }: DefaultModel): Promise<void> {
    const { profile = profileIn(await this.read()) } = this.#options;
    const own = profile === undefined ? undefined : this.#file(`${profile}.config.toml`);
    // A profile with its own file is not read from the table of its name.
    const inOwnFile = own !== undefined && path.dirname(own) === this.#options.codexHome && (await textOf(own)) !== undefined;
    const file = inOwnFile ? own : this.#file("config.toml");
    const table = profile === undefined || inOwnFile ? [] : ["profiles", profile];
    await rewrite(file, (text) => {
      parseConfig(file, text);
      return withTexts(text, table, { model, model_reasoning_effort: effort });
    });
  }

  #file(name: string): string {
    return path.join(this.#options.codexHome, name);
  }
}

function profileIn({ profile }: ConfigTree): string | undefined {
  return typeof profile === "string" && profile !== "" ? profile : undefined;
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    notPipe(await promises.stat(file));
    return await promises.readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new ConfigNotSaved(`${file} cannot be read (${errorCode(error) ?? describe(error)})`, { cause: error });
  }
}

function textNow(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * If another program saves meanwhile, its version is read and edited again. The write is atomic. A missing file is not created without
 * content.
 */
async function rewrite(named: string, edit: (text: string) => string): Promise<void> {
  // A link is kept: its target is changed.
  const file = await promises.realpath(named).catch(() => named);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const before = await textOf(file);
    const after = edit(before ?? "");
    if (after === (before ?? "")) return;
    if (await replaced(file, { before, after })) return;
    // Two programs that try again at the same moment would collide every time.
    await delay(Math.random() * LONGEST_PAUSE_MS);
  }
  throw new ConfigNotSaved(`${file} keeps being changed by another program. Try again.`);
}

/** False when the file has changed meanwhile. */
async function replaced(
  file: string,
  { before, after }: { readonly before: string | undefined; readonly after: string },
): Promise<boolean> {
  const draft = `${file}.${randomUUID()}.new`;
  try {
    const mode = before === undefined ? 0o600 : (await promises.stat(file)).mode & 0o777;
    await promises.writeFile(draft, after, { mode, flush: true, flag: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL });
    await promises.chmod(draft, mode);
    // Synchronous: what another program saves between the last look and the rename is lost.
    if (textNow(file) !== before) return false;
    renameSync(draft, file);
    return true;
  } catch (error) {
    throw new ConfigNotSaved(`${file} cannot be written (${errorCode(error) ?? describe(error)})`, { cause: error });
  } finally {
    await promises.rm(draft, { force: true }).catch(() => undefined);
  }
}
