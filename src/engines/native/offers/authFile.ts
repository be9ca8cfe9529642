import { promises } from "node:fs";
import path from "node:path";
import { describe, errorCode } from "../../../lib/errors.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { LoginNotKept } from "./errors.js";

/** Puts the key into `auth.json` as Codex does. What else is in there stays. Throws `LoginNotKept`. */
export async function keepApiKey(codexHome: string, apiKey: string): Promise<void> {
  const file = authFileIn(codexHome);
  await writeMembers(file, { ...(await readMembers(file)), OPENAI_API_KEY: apiKey });
}

/** Takes the key out of `auth.json`, and the file away when nothing else is in there. Throws `LoginNotKept`. */
export async function dropApiKey(codexHome: string): Promise<void> {
  const file = authFileIn(codexHome);
  const members = await readMembers(file);
  // Newer versions of Codex write down that the key is what they log in with.
  const others = Object.entries(members).filter(
    ([name, value]) => name !== "OPENAI_API_KEY" && !(name === "auth_mode" && value === "apikey"),
  );
  if (others.length > 0) await writeMembers(file, { OPENAI_API_KEY: null, ...Object.fromEntries(others) });
  else await attempt(`remove ${file}`, () => promises.rm(file, { force: true }));
}

function authFileIn(codexHome: string): string {
  return path.join(codexHome, "auth.json");
}

/** A file that is no JSON has nothing in it that could be kept. */
async function readMembers(file: string): Promise<Fields> {
  const text = await attempt(`read ${file}`, () => readIfThere(file));
  try {
    const members: unknown = JSON.parse(text);
    return isFields(members) ? members : {};
  } catch {
    return {};
  }
}

async function readIfThere(file: string): Promise<string> {
  try {
    return await promises.readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}

/**
 * In place, as Codex does: a sandbox hides the file that was there when its command began, and a new one under the same name
 * would show through.
 */
async function writeMembers(file: string, members: Fields): Promise<void> {
  await attempt(`write ${file}`, async () => {
    await promises.mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await promises.writeFile(file, `${JSON.stringify(members, null, 2)}\n`, { mode: 0o600, flush: true });
  });
}

async function attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LoginNotKept(`Cannot ${what}: ${describe(error)}. Check the permissions of the folder.`, { cause: error });
  }
}
