import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Stage } from "../stage.js";

const TOKENS = { alice: "alice-token-0123456789", bob: "bob-token-0123456789ab", root: "root-token-0123456789a" };

export type Headers = Readonly<Record<string, string>>;

export const ALICE: Headers = { authorization: `Bearer ${TOKENS.alice}` };
export const BOB: Headers = { authorization: `Bearer ${TOKENS.bob}` };
export const OPERATOR: Headers = { authorization: `Bearer ${TOKENS.root}` };

/** The arguments of a server that knows the three, one of them as its operator. */
export async function threePrincipals({ root }: Stage): Promise<string[]> {
  const file = path.join(root, "tokens");
  await writeFile(file, `alice ${TOKENS.alice}\nbob ${TOKENS.bob}\nroot ${TOKENS.root} operator\n`, { mode: 0o600 });
  return ["--token-file", file];
}
