import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { model, PROMPT, server, signal, unlessInterrupted } from "./run.mjs";

const client = new MultiServerMCPClient({
  codex: server.url
    ? { transport: "http", url: server.url }
    : // snippet
      { transport: "stdio", command: server.command, args: server.args, env: server.env },
  // end
});
try {
  const llm = new ChatOpenAI({ model: "mock-model", apiKey: "mock", configuration: { baseURL: `${model}/v1` } });
  const agent = createAgent({ model: llm, tools: await client.getTools() });
  await unlessInterrupted(agent.invoke({ messages: [{ role: "user", content: PROMPT }] }, { signal, recursionLimit: 100 }));
} finally {
  await client.close();
}
