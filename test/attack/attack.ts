import { describe, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { Ground } from "./ground.js";
import { RAN, Victim, type VictimOptions } from "./victim.js";

/** `npm run attack` plays every attack; `npm test` plays one of each kind. */
export const ALL_ATTACKS = process.env["TESTS"] === "attack";
const ATTACK_MS = 90_000;
/** The beginning of the server's message that a command cannot be sandboxed. */
const NOT_RUN = "The command was not run";

/** Shows that honest use still works. Only in the full suite, since other tests cover most of it. */
export function control(name: string, act: () => Promise<void>): void {
  if (ALL_ATTACKS) it.skipIf(isMissing)(name, { timeout: ATTACK_MS }, act);
}

/** One attack: its preparation, the attempt, and how success is detected. */
export interface Attack {
  /** The attacker's aim, worded so that "cannot …" states what the server promises. */
  readonly name: string;
  /** Part of `npm test`, as the representative of its kind. */
  readonly quick?: true;
  /** The reason why the attack cannot be tried on this machine. */
  readonly skip?: string | undefined;
  /** The kind of client; absent if the attack starts its own server. */
  readonly on?: "stdio" | "port";
  readonly victim?: VictimOptions | ((ground: Ground) => VictimOptions);
  /** The attack also counts as stopped if the server refuses to start, or to run commands, in this environment and reports it. */
  readonly mayRefuseToStart?: true;
  /** The attack ends with the server. */
  readonly endsTheServer?: true;
  prepare?(ground: Ground): unknown;
  attempt(ground: Ground, victim: Victim): unknown;
  /** Gains other than leaked secrets, marks of programs outside the sandbox, and memory. */
  gained?(ground: Ground): readonly string[];
  /** The same attack where nothing protects. It shows that the attack works and that its gain would be detected. */
  standIn(ground: Ground): unknown;
}

/** Two tests per attack: it gains nothing from the server, and it succeeds where nothing protects. */
export function describeAttacks(title: string, attacks: readonly Attack[]): void {
  const chosen = attacks.filter(({ quick }) => quick || ALL_ATTACKS);
  if (chosen.length === 0) return;
  describe.skipIf(isMissing).concurrent(title, { timeout: ATTACK_MS }, () => {
    for (const attack of chosen) {
      if (attack.skip !== undefined) console.warn(`*** SKIPPED: "${title} ${attack.name}": ${attack.skip}`);
      const test = attack.skip === undefined ? it : it.skip;
      test(`cannot ${attack.name}`, async ({ expect }) => expect((await play(attack)).join("; ")).toBe(""));
      test(`could ${attack.name} where nothing protects`, async ({ expect }) => expect(await playUnprotected(attack)).not.toHaveLength(0));
    }
  });
}

async function play(attack: Attack): Promise<string[]> {
  await using ground = await Ground.open();
  await attack.prepare?.(ground);
  const excesses = await attempt(attack, ground);
  checkWasTried(attack, ground);
  return gainsOf(attack, ground).concat(excesses);
}

/** An attack whose command never ran proves nothing, unless the command was refused. */
function checkWasTried({ mayRefuseToStart }: Attack, ground: Ground): void {
  const refused = mayRefuseToStart && ground.saw(NOT_RUN);
  if (ground.notes["run"] === "expected" && !ground.saw(RAN) && !refused) throw new Error("No command ran: the attack was not tried.");
}

async function attempt(attack: Attack, ground: Ground): Promise<string[]> {
  const options = typeof attack.victim === "function" ? attack.victim(ground) : attack.victim;
  const opened = await open(attack, ground, options);
  if (!opened) return [];
  await using victim = opened;
  try {
    await attack.attempt(ground, victim);
    if (!attack.endsTheServer) await victim.stillAnswers();
    return victim.excesses();
  } catch (error) {
    const excesses = victim.excesses();
    if (excesses.length > 0) return excesses;
    throw error;
  }
}

async function open(attack: Attack, ground: Ground, options: VictimOptions | undefined): Promise<Victim | undefined> {
  try {
    return await (attack.on === "port" ? Victim.onPort(ground, options) : Victim.onStdio(ground, options));
  } catch (error) {
    if (attack.mayRefuseToStart) return undefined;
    throw error;
  }
}

async function playUnprotected(attack: Attack): Promise<string[]> {
  await using ground = await Ground.open();
  await attack.prepare?.(ground);
  await attack.standIn(ground);
  return gainsOf(attack, ground);
}

function gainsOf(attack: Attack, ground: Ground): string[] {
  return [...ground.leaks(), ...ground.marks(), ...(attack.gained?.(ground) ?? [])];
}
