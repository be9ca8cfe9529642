import path from "node:path";
import { ancestorsOfThisProcess, commandLineOf, environmentOf, folderOf } from "../../platform/processes.js";
import { COMMAND_MARK } from "../commandMark.js";
import { isOwnProgram, scriptIn } from "./ownProgram.js";
import { MARK_VARIABLE, narrowest, readMark, type TurnMark } from "./turnMark.js";

/** A process that this one descends from. */
export interface Ancestor {
  /** The environment it was started with; empty when that cannot be read. */
  environment(): readonly string[];
  commandLine(): readonly string[];
  /** The working directory, for its relative paths. */
  folder(): string | undefined;
}

/**
 * The turn in which this process was started; undefined for a server that was not started in one. The environment of this process has the
 * mark, unless a program in between removed it. Then the ancestors are searched, up to the server that runs the turn: a process cannot change
 * the environment that its ancestors were started with.
 */
export function findSurroundingTurn(
  env: Readonly<Record<string, string | undefined>>,
  ancestors: Iterable<Ancestor> = livingAncestors(),
): TurnMark | undefined {
  const found = marksIn(Object.entries(env).map(([name, value]) => `${name}=${value}`));
  for (const ancestor of ancestors) {
    // Everything between it and us was started by one of its turns.
    if (isServer(ancestor)) return narrowest(found) ?? "sealed";
    found.push(...marksIn(ancestor.environment()));
  }
  return narrowest(found);
}

/** A command mark without a turn mark comes from a server that does not mark its turns. It still means that this process runs inside a turn. */
function marksIn(environment: readonly string[]): TurnMark[] {
  const marks = environment
    .filter((entry) => entry.startsWith(`${MARK_VARIABLE}=`))
    .map((entry) => readMark(entry.slice(MARK_VARIABLE.length + 1)));
  if (marks.length > 0) return marks;
  return environment.some((entry) => entry.startsWith(`${COMMAND_MARK}=`)) ? ["sealed"] : [];
}

function isServer(ancestor: Ancestor): boolean {
  const script = scriptIn(ancestor.commandLine());
  return script !== undefined && isOwnProgram(path.resolve(ancestor.folder() ?? "/", script));
}

function* livingAncestors(): Iterable<Ancestor> {
  for (const pid of ancestorsOfThisProcess())
    yield { environment: () => environmentOf(pid), commandLine: () => commandLineOf(pid), folder: () => folderOf(pid) };
}
