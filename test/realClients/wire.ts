import { existsSync, readFileSync } from "node:fs";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";

/** A message between a client and the server, in the order of the tap. */
export interface WireMessage {
  readonly at: number;
  readonly direction: "in" | "out";
  readonly message: Readonly<Record<string, unknown>>;
}

/** Everything the tap noted; lines that are no messages, or longer than the tap keeps, are left out. */
export function readWire(notes: string): readonly WireMessage[] {
  if (!existsSync(notes)) return [];
  return readFileSync(notes, "utf8")
    .split("\n")
    .flatMap((note) => {
      try {
        const { at, direction, line } = JSON.parse(note) as { at: number; direction: "in" | "out"; line: string };
        const message: unknown = JSON.parse(line);
        return isRecord(message) ? [{ at, direction, message }] : [];
      } catch {
        return [];
      }
    });
}

/** Who the client says it is: in the handshake, or in any request of the era without one. */
export function identityOf(wire: readonly WireMessage[]): { readonly name: string; readonly revision: string } | undefined {
  for (const { direction, message } of wire) {
    if (direction !== "in") continue;
    const meta = valueAt(message, "params._meta") as Readonly<Record<string, unknown>> | undefined;
    const info = valueAt(message, "params.clientInfo") ?? meta?.["io.modelcontextprotocol/clientInfo"];
    const revision = valueAt(message, "params.protocolVersion") ?? meta?.["io.modelcontextprotocol/protocolVersion"];
    if (isRecord(info)) return { name: String(info["name"]), revision: agreedRevision(wire) ?? String(revision) };
  }
  return undefined;
}

function agreedRevision(wire: readonly WireMessage[]): string | undefined {
  const answer = wire.find(({ direction, message }) => direction === "out" && valueAt(message, "result.protocolVersion") !== undefined);
  return answer && String(valueAt(answer.message, "result.protocolVersion"));
}

/** Names of the tools that the client was told of. */
export function listedTools(wire: readonly WireMessage[]): readonly string[] {
  const lists = wire.flatMap(({ message }) => {
    const tools = valueAt(message, "result.tools");
    return Array.isArray(tools) ? [tools.map((tool: unknown) => String(valueAt(tool, "name")))] : [];
  });
  return lists.at(-1) ?? [];
}

/** The thread of the first call that was answered with one. */
export function firstThread(wire: readonly WireMessage[]): string {
  const answer = wire.find(({ message }) => valueAt(message, "result.structuredContent.threadId") !== undefined);
  return String(answer && valueAt(answer.message, "result.structuredContent.threadId"));
}

/** How the questions of the turns were decided, and by whom, as the results say. */
export function decisions(wire: readonly WireMessage[]): readonly { readonly decision: string; readonly by: string }[] {
  return wire.flatMap(({ direction, message }) => {
    const decided = direction === "out" ? valueAt(message, "result.structuredContent.approvals.decisions") : undefined;
    if (!Array.isArray(decided)) return [];
    return decided.map((one: unknown) => ({ decision: String(valueAt(one, "decision")), by: String(valueAt(one, "by")) }));
  });
}
