import { existsSync, readFileSync } from "node:fs";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";

/** A message between client and server, in the order in which the tap saw it. */
export interface WireMessage {
  readonly at: number;
  readonly direction: "in" | "out";
  readonly message: Readonly<Record<string, unknown>>;
}

/** All messages that the tap recorded. Lines that are no messages, or that exceed the tap's limit, are omitted. */
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

/** The client's own name: from the handshake, or from any request without a session. */
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

/** The tool names that the server listed. */
export function listedTools(wire: readonly WireMessage[]): readonly string[] {
  const lists = wire.flatMap(({ message }) => {
    const tools = valueAt(message, "result.tools");
    return Array.isArray(tools) ? [tools.map((tool: unknown) => String(valueAt(tool, "name")))] : [];
  });
  return lists.at(-1) ?? [];
}

/** The thread id in the first result that has one. */
export function firstThread(wire: readonly WireMessage[]): string {
  const answer = wire.find(({ message }) => valueAt(message, "result.structuredContent.threadId") !== undefined);
  return String(answer && valueAt(answer.message, "result.structuredContent.threadId"));
}

/** How the questions of the turns were decided, and by whom, as the results report. */
export function decisions(wire: readonly WireMessage[]): readonly { readonly decision: string; readonly by: string }[] {
  return wire.flatMap(({ direction, message }) => {
    const decided = direction === "out" ? valueAt(message, "result.structuredContent.approvals.decisions") : undefined;
    if (!Array.isArray(decided)) return [];
    return decided.map((one: unknown) => ({ decision: String(valueAt(one, "decision")), by: String(valueAt(one, "by")) }));
  });
}
