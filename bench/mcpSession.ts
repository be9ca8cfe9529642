import { DeltaMeter } from "./deltaMeter.js";
import { isRecord, LineRpc } from "./lineRpc.js";
import { type OpenSession, START_DEADLINE_MS, TURN_DEADLINE_MS, type TurnRequest } from "./session.js";

/** An MCP client on stdio, like the clients of `codex mcp-server`. */
export const openMcpSession: OpenSession = async (server, workspace) => {
  const deltas = new DeltaMeter();
  const rpc = new LineRpc(server, (method, { msg }) => {
    if (method === "codex/event" && isRecord(msg)) deltas.take(msg.type, msg.delta);
  });
  const clientInfo = { name: "bench", version: "1" };
  await rpc.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }, { deadlineMs: START_DEADLINE_MS });
  rpc.notify("notifications/initialized");
  return {
    deltas,
    async turn(request) {
      const result = await rpc.request("tools/call", toolCall(request, workspace), { deadlineMs: TURN_DEADLINE_MS });
      return checkedThreadId(result, request);
    },
    async tool(name, args) {
      const result = await rpc.request("tools/call", { name, arguments: args }, { deadlineMs: TURN_DEADLINE_MS });
      const { structuredContent, isError } = isRecord(result) ? result : {};
      if (isError === true || !isRecord(structuredContent)) throw new Error(`unexpected answer: ${JSON.stringify(result).slice(0, 300)}`);
      return structuredContent;
    },
  };
};

function toolCall({ threadId, prompt, sandbox }: TurnRequest, cwd: string): object {
  if (threadId !== undefined) return { name: "codex-reply", arguments: { threadId, prompt } };
  return { name: "codex", arguments: { prompt, cwd, sandbox: sandbox ?? "danger-full-access", "approval-policy": "never" } };
}

function checkedThreadId(result: unknown, { expect, commands = 0 }: TurnRequest): string {
  const { content, structuredContent, isError } = isRecord(result) ? result : {};
  const text = Array.isArray(content) ? content.map((part: unknown) => (isRecord(part) ? String(part.text) : "")).join("") : "";
  if (isError === true || !text.includes(expect) || !isRecord(structuredContent))
    throw new Error(`unexpected answer: ${text.slice(0, 300)}`);
  // Only our results count commands.
  const ran = isRecord(structuredContent.commands) ? structuredContent.commands.run : commands;
  if (ran !== commands) throw new Error(`${String(ran)} commands ran instead of ${commands}: ${text.slice(0, 500)}`);
  return String(structuredContent.threadId);
}
