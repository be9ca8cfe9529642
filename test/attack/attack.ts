import { describe, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { Ground } from "./ground.js";
import { RAN, Victim, type VictimOptions } from "./victim.js";

/** `npm run attack` plays every row; `npm test` those that stand for the others. */
export const ALL_ATTACKS = process.env["TESTS"] === "attack";
const ATTACK_MS = 90_000;
/** How the server begins to say that a command cannot be held to its sandbox. */
const NOT_RUN = "The command was not run";

/** What must go on working for honest users. Played with all attacks; the other tests hold most of it anyway. */
export function control(name: string, act: () => Promise<void>): void {
  if (ALL_ATTACKS) it.skipIf(isMissing)(name, { timeout: ATTACK_MS }, act);
}

/** One attack: what it needs, what it does, and what is seen if it worked. */
export interface Attack {
  /** Says what the attacker is after, so that "cannot …" is what is promised. */
  readonly name: string;
  /** Stands for its kind in the quick part. */
  readonly quick?: true;
  /** Why it cannot be tried here, if it cannot. */
  readonly skip?: string | undefined;
  /** A client on stdio, or callers of a port; absent where the attack starts its own. */
  readonly on?: "stdio" | "port";
  readonly victim?: VictimOptions | ((ground: Ground) => VictimOptions);
  /** A server that does not start in such surroundings, or runs nothing there, and says so, has held the attack off. */
  readonly mayRefuseToStart?: true;
  /** The attack is over when the server is. */
  readonly endsTheServer?: true;
  prepare?(ground: Ground): unknown;
  attempt(ground: Ground, victim: Victim): unknown;
  /** Besides leaked secrets, marks of what ran outside, and memory. */
  gained?(ground: Ground): readonly string[];
  /** The same on ground where nothing protects: what shows that the attack is one, and that its gain would be seen. */
  standIn(ground: Ground): unknown;
}

/** A test per attack that it gains nothing, and one that it does where nothing protects. */
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

/** An attack whose command never ran says nothing, unless it is the one that was refused. */
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
