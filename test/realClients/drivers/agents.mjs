import { Agent, MCPServerStdio, MCPServerStreamableHttp, run, setDefaultOpenAIClient, setTracingDisabled } from "@openai/agents";
import OpenAI from "openai";
import { model, PROMPT, server, signal, unlessInterrupted } from "./run.mjs";

setTracingDisabled(true);
setDefaultOpenAIClient(new OpenAI({ baseURL: `${model}/v1`, apiKey: "mock" }));

const codex = server.url
  ? new MCPServerStreamableHttp({ name: "Codex", url: server.url })
  : // snippet
    new MCPServerStdio({ name: "Codex", command: server.command, args: server.args, env: server.env });
// end
await codex.connect();
try {
  const agent = new Agent({ name: "boss", instructions: "Use codex.", model: "mock-model", mcpServers: [codex] });
  await unlessInterrupted(run(agent, PROMPT, { signal, maxTurns: 40 }));
} finally {
  await codex.close();
}
