import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Script } from "node:vm";
import { isTuned, untuned } from "../v8.js";

const PARAMETERS = "(function (exports, require, module, __filename, __dirname) { ";
/** Lengths of the source and of what it was compiled to. */
const HEADER_BYTES = 8;
const WRITABLE_BY_OTHERS = 0o022;

type Body = (exports: unknown, require: (id: string) => unknown, module: LoadedModule, file: string, folder: string) => void;

interface LoadedModule {
  exports: unknown;
}

/** A file that this process had to compile. */
interface Fresh {
  readonly source: Buffer;
  readonly script: Script;
  readonly tuned: boolean;
}

/**
 * The program's own files, taken as an earlier process compiled them. What that was is kept beside them, where nobody can write who could not
 * as well write the program. V8 trusts it blindly, so it counts only with the very source it was made of, and when two copies are the same.
 */
export class CompiledFiles {
  readonly #folder: string;
  readonly #require: (id: string) => unknown;
  readonly #modules = new Map<string, LoadedModule>();
  readonly #fresh = new Map<string, Fresh>();

  constructor(folder: string, require: (id: string) => unknown) {
    this.#folder = folder;
    this.#require = require;
  }

  load(name: string): unknown {
    const known = this.#modules.get(name);
    if (known) return known.exports;
    const file = path.join(this.#folder, name);
    const source = readFileSync(file);
    // Only Node's own loader can do that. The build sees to it that no file of ours needs it.
    if (source.includes("import(")) return this.#require(`./${name}`);
    const module: LoadedModule = { exports: {} };
    this.#modules.set(name, module);
    try {
      this.#bodyOf(name, file, source)(module.exports, (id) => this.#required(id), module, file, this.#folder);
    } catch (error) {
      this.#modules.delete(name);
      throw error;
    }
    return module.exports;
  }

  /**
   * Keeps, for the next process, what V8 has compiled of the files that were not kept yet. Best called when the program has done its work once.
   * Where that is not possible, the next start is as this one was.
   */
  keep(): void {
    const fresh = [...this.#fresh];
    this.#fresh.clear();
    try {
      if (fresh.length === 0 || isSwitchedOff() || !isOwn(this.#folder) || !this.#hasSafePlace()) return;
      for (const [name, { source, script, tuned }] of fresh) {
        // V8 takes it only with the flags it was made with: those that the file is loaded with.
        const compiled = tuned ? script.createCachedData() : untuned(() => script.createCachedData());
        if (compiled) write(this.#pathOf(name, tuned), [lengths(source, compiled), source, compiled, compiled]);
      }
    } catch {
      // A faster start is not worth a word.
    }
  }

  /** It may be older, or in a file system that makes everything everybody's. */
  #hasSafePlace(): boolean {
    const place = path.join(this.#folder, "compiled");
    mkdirSync(place, { recursive: true });
    chmodSync(place, 0o755);
    return isAsSafeAs(this.#folder, [place]);
  }

  #required(id: string): unknown {
    return /^\.\/(?!main\.js$)[\w-]+\.js$/.test(id) ? this.load(id.slice(2)) : this.#require(id);
  }

  #bodyOf(name: string, file: string, source: Buffer): Body {
    const compiled = this.#read(name, source);
    const script = new Script(`${PARAMETERS}${source.toString()}\n})`, {
      filename: file,
      columnOffset: -PARAMETERS.length,
      ...(compiled ? { cachedData: compiled } : {}),
    });
    if (!compiled || script.cachedDataRejected === true) this.#fresh.set(name, { source, script, tuned: isTuned() });
    return script.runInThisContext() as Body;
  }

  #read(name: string, source: Buffer): Buffer | undefined {
    if (isSwitchedOff()) return undefined;
    try {
      const file = this.#pathOf(name, isTuned());
      if (!isAsSafeAs(this.#folder, [path.dirname(file), file])) return undefined;
      const kept = readFileSync(file);
      const [sourceLength, length] = [kept.readUInt32LE(0), kept.readUInt32LE(4)];
      const compiledAt = HEADER_BYTES + sourceLength;
      const first = kept.subarray(compiledAt, compiledAt + length);
      const second = kept.subarray(compiledAt + length);
      return source.equals(kept.subarray(HEADER_BYTES, compiledAt)) && first.equals(second) ? first : undefined;
    } catch {
      return undefined;
    }
  }

  #pathOf(name: string, tuned: boolean): string {
    return path.join(this.#folder, "compiled", `${name}.${thisNode()}${tuned ? "-tuned" : ""}`);
  }
}

/** Several builds of one version may share an installation, that of a container for one. */
function thisNode(): string {
  return `${process.version}-${process.arch}-${statSync(process.execPath).size}`;
}

/** By whoever the program belongs to, and by nobody else. */
function isAsSafeAs(folder: string, others: readonly string[]): boolean {
  if (process.platform === "win32") return true;
  const { uid } = statSync(folder);
  return others.map((other) => statSync(other)).every((other) => other.uid === uid && (other.mode & WRITABLE_BY_OTHERS) === 0);
}

/** Somebody else's installation would be left with files that its owner cannot remove. */
function isOwn(folder: string): boolean {
  return process.getuid === undefined || process.getuid() === statSync(folder).uid;
}

function write(target: string, parts: readonly Buffer[]): void {
  const draft = `${target}.${process.pid}`;
  try {
    writeFileSync(draft, Buffer.concat(parts), { mode: 0o644 });
    renameSync(draft, target);
  } catch (error) {
    unlinkSync(draft);
    throw error;
  }
}

function lengths(source: Buffer, compiled: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(source.length, 0);
  header.writeUInt32LE(compiled.length, 4);
  return header;
}

/** By the name that Node has for it. */
function isSwitchedOff(): boolean {
  return (process.env["NODE_DISABLE_COMPILE_CACHE"] ?? "") !== "";
}
