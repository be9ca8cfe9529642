import { randomBytes } from "node:crypto";
import { closeSync, constants, existsSync, lstatSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Stage, setStage } from "../support/stage.js";

/** Larger files are not searched: no part of the server writes that much. */
const LARGEST_SEARCHED_BYTES = 32 * 1024 * 1024;
/** Files and folders that the server writes and that a model or caller may read later. */
const WRITTEN_DOWN = ["sessions", "archived_sessions", "log", "history.jsonl", "mcp-server"];
/** Shorter pieces could match by chance. */
const SHORTEST_PIECE = 12;

/**
 * The place of an attack, with everything it could gain: secrets, whose text must not appear elsewhere, and a folder that must stay empty.
 */
export class Ground implements AsyncDisposable, Stage {
  readonly root: string;
  readonly workspace: string;
  codexHome: string;
  readonly home: string;
  /** No sandboxed command may write here, so a file here was written by a program outside the sandbox. */
  readonly outside: string;
  /** The temporary folder for attacks that set another one. */
  readonly tmp: string;
  /** Values that `prepare` found and the attempt needs. */
  readonly notes: Record<string, string> = {};
  readonly #secrets = new Map<string, string>();
  readonly #holders = new Set<string>();
  readonly #seen: { readonly where: string; readonly text: string }[] = [];
  readonly #ending: (() => unknown)[] = [];

  private constructor(private readonly stage: Stage) {
    this.root = stage.root;
    this.workspace = stage.workspace;
    this.codexHome = stage.codexHome;
    this.home = stage.home;
    this.outside = path.join(stage.root, "outside");
    this.tmp = path.join(stage.root, "tmp");
    for (const folder of [this.outside, this.tmp]) mkdirSync(folder);
  }

  static async open(): Promise<Ground> {
    return new Ground(await setStage());
  }

  /**
   * The text of a secret; the same name always gives the same text. It does not look like a key, so a filter can know it only by its value.
   */
  secret(name: string): string {
    const made = this.#secrets.get(name) ?? `${name.replaceAll(/\W+/g, "-")}-${randomBytes(9).toString("hex")}`;
    this.#secrets.set(name, made);
    return made;
  }

  /** From here on, this secret may be seen. */
  release(name: string): void {
    this.#secrets.delete(name);
  }

  /** Writes a file that may contain secrets. */
  hold(file: string, text: string): string {
    this.write(file, text, 0o600);
    this.#holders.add(file);
    return file;
  }

  write(file: string, text: string, mode = 0o644): string {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    return file;
  }

  /** Moves the server's home to this folder. */
  placeHome(folder: string): void {
    mkdirSync(folder, { recursive: true });
    this.codexHome = folder;
  }

  inWorkspace(...names: readonly string[]): string {
    return path.join(this.workspace, ...names);
  }

  /** Whether the workspace has a file of this name. */
  has(name: string): boolean {
    return existsSync(this.inWorkspace(name));
  }

  inHome(...names: readonly string[]): string {
    return path.join(this.codexHome, ...names);
  }

  mark(name: string): string {
    return path.join(this.outside, name);
  }

  /** Records text that a model, client or other reader received. */
  see(where: string, text: string): void {
    this.#seen.push({ where, text });
  }

  saw(text: string): boolean {
    return this.#seen.some((seen) => seen.text.includes(text));
  }

  /** Runs this before the folders are removed. */
  atTheEnd(action: () => unknown): void {
    this.#ending.push(action);
  }

  /** Programs that ran outside the sandbox, as their marks show. */
  marks(): string[] {
    return readdirSync(this.outside).map((name) => `${name} ran outside: ${firstLine(path.join(this.outside, name))}`);
  }

  /** The secrets that were found, and where. */
  leaks(): string[] {
    const places = [...this.#seen, ...this.#files()];
    return [...this.#secrets].flatMap(([name, secret]) => {
      const forms = formsOf(secret);
      const where = places.filter(({ text }) => forms.some((form) => text.includes(form)));
      return [...new Set(where.map((place) => `${name} in ${place.where}`))];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const action of this.#ending) await action();
    await this.stage[Symbol.asyncDispose]();
  }

  *#files(): Generator<{ readonly where: string; readonly text: string }> {
    for (const folder of [this.workspace, ...WRITTEN_DOWN.map((name) => this.inHome(name))]) {
      for (const file of filesIn(folder)) {
        if (!this.#holders.has(file)) yield { where: path.relative(this.root, file), text: readPlain(file) };
      }
    }
  }
}

/** Regular files only. Links are not followed, and `node_modules` is left out because no reader's output is written there. */
function filesIn(folder: string): string[] {
  const at = lstatSync(folder, { throwIfNoEntry: false });
  if (at?.isFile()) return at.size <= LARGEST_SEARCHED_BYTES ? [folder] : [];
  if (!at?.isDirectory() || path.basename(folder) === "node_modules") return [];
  return readdirSync(folder).flatMap((name) => filesIn(path.join(folder, name)));
}

/** The file may have been replaced since it was listed, so links are not followed. */
function readPlain(file: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    return readFileSync(fd, "latin1");
  } catch {
    return "";
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The text itself, and its encoded forms in images, addresses and dumps. */
function formsOf(secret: string): string[] {
  const shifted = [0, 1, 2].map((shift) =>
    // The first and last characters also depend on their neighbours.
    Buffer.from(`${"\0".repeat(shift)}${secret}`)
      .toString("base64")
      .slice(4, -4),
  );
  return [secret, Buffer.from(secret).toString("hex"), ...shifted].filter((form) => form.length >= SHORTEST_PIECE);
}

function firstLine(file: string): string {
  try {
    return readFileSync(file, "utf8").split("\n")[0] ?? "";
  } catch {
    return "";
  }
}
