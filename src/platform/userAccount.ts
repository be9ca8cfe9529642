import { homedir, userInfo } from "node:os";
import path from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** The user's home folder. A user with neither HOME nor an entry in the system's table, as in some containers, has "/", as in Docker. */
export function userHome(env: Environment): string {
  return userHomes(env)[0] ?? "/";
}

/** HOME first: it and the system's table of users may name different folders. A relative HOME would lead into a project. */
export function userHomes(env: Environment): string[] {
  const named = [env["HOME"], ifKnown(homedir), ifKnown(() => userInfo().homedir)];
  return [...new Set(named.filter((home): home is string => home !== undefined && path.isAbsolute(home)))];
}

/** The system throws for a user who is not in its table. */
function ifKnown(find: () => string): string | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}
