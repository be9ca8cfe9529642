import { Agent } from "@mastra/core/agent";
import { MCPClient } from "@mastra/mcp";
import { model, PROMPT, server, signal, unlessInterrupted } from "./run.mjs";

const client = new MCPClient({
  servers: {
    codex: server.url
      ? { url: new URL(server.url) }
      : // snippet
        { command: server.command, args: server.args, env: server.env },
    // end
  },
});
try {
  const agent = new Agent({
    id: "boss",
    name: "boss",
    instructions: "Use codex.",
    model: { providerId: "mock", modelId: "mock-model", url: `${model}/v1`, apiKey: "mock" },
    tools: await client.listTools(),
  });
  await unlessInterrupted(agent.generate(PROMPT, { maxSteps: 40, abortSignal: signal }));
} finally {
  await client.disconnect();
}
