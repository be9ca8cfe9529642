import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount } from "ai";
import { model, PROMPT, server, signal, unlessInterrupted } from "./run.mjs";

const client = server.url
  ? await createMCPClient({ transport: { type: "http", url: server.url } })
  : // snippet
    await createMCPClient({ transport: new StdioTransport({ command: server.command, args: server.args, env: server.env }) });
// end
try {
  const provider = createOpenAICompatible({ name: "mock", baseURL: `${model}/v1`, apiKey: "mock" });
  const tools = await client.tools();
  const work = generateText({ model: provider("mock-model"), tools, stopWhen: isStepCount(40), prompt: PROMPT, abortSignal: signal });
  await unlessInterrupted(work);
} finally {
  await client.close();
}
