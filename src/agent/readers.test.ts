import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { callerNamed } from "../../test/support/memory/ownToolsStage.js";
import { deferred } from "../lib/promises.js";
import { CallCancelled } from "./errors.js";
import { Readers } from "./readers.js";

const ALICE = callerNamed("alice");
const BOB = callerNamed("bob");

class Library {
  readonly begun: string[] = [];
  readonly #readers = new Readers();
  readonly #open = new Map<string, ReturnType<typeof deferred<string>>>();

  read(name: string, caller: typeof ALICE | undefined, signal = new AbortController().signal): Promise<string> {
    return this.#readers.read({ caller, signal }, () => {
      this.begun.push(name);
      const reading = deferred<string>();
      this.#open.set(name, reading);
      return reading.promise;
    });
  }

  async end(name: string): Promise<void> {
    this.#open.get(name)?.resolve(name);
    await nextTurn();
  }

  async fail(name: string): Promise<void> {
    this.#open.get(name)?.reject(new Error(name));
    await nextTurn();
  }
}

const FIRST = ["1", "2", "3", "4"];

it("a principal reads four records at a time, the others in order", async () => {
  const library = new Library();
  const all = ["1", "2", "3", "4", "5", "6"].map((name) => library.read(name, ALICE));
  expect(library.begun).toEqual(FIRST);
  await library.end("3");
  expect(library.begun).toEqual([...FIRST, "5"]);
  for (const name of ["1", "2", "4", "5", "6"]) await library.end(name);
  expect(await Promise.all(all)).toEqual(["1", "2", "3", "4", "5", "6"]);
});

it("another principal, and the server's own user, do not wait for it", () => {
  const library = new Library();
  for (const name of [...FIRST, "5"]) void library.read(name, ALICE);
  void library.read("bob's", BOB);
  for (const name of ["a", "b", "c", "d", "e"]) void library.read(name, undefined);
  expect(library.begun).toEqual([...FIRST, "bob's", "a", "b", "c", "d", "e"]);
});

it("a reading that fails makes room too", async () => {
  const library = new Library();
  const [failing] = [...FIRST, "5"].map((name) => library.read(name, ALICE));
  const failed = expect(failing).rejects.toThrow("1");
  await library.fail("1");
  await failed;
  expect(library.begun).toEqual([...FIRST, "5"]);
});

it("a caller that gives up leaves the queue", async () => {
  const library = new Library();
  for (const name of FIRST) void library.read(name, ALICE);
  const gone = new AbortController();
  const given = expect(library.read("5", ALICE, gone.signal)).rejects.toThrow(CallCancelled);
  void library.read("6", ALICE);
  gone.abort();
  await given;
  await library.end("1");
  expect(library.begun).toEqual([...FIRST, "6"]);
  await expect(library.read("7", ALICE, gone.signal)).rejects.toThrow(CallCancelled);
});

it("a caller that gives up while its record is read keeps its place until the reading has ended", async () => {
  const library = new Library();
  const givingUp = new AbortController();
  for (const name of FIRST) void library.read(name, ALICE, givingUp.signal);
  void library.read("5", ALICE);
  givingUp.abort();
  await nextTurn();
  expect(library.begun).toEqual(FIRST);
  await library.end("1");
  expect(library.begun).toEqual([...FIRST, "5"]);
});
