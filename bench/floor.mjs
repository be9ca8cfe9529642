// The practical floor for a Node server of this kind: `codex` and `codex-reply` over stdio with nothing around the work.
// No validation, approvals, limits, retries or safety; only the messages, the model, the history and a log per thread.
// The difference to our server is the cost of these features. The model's address is $BENCH_MODEL_URL.
import { randomUUID } from "node:crypto";
import { appendFile, mkdirSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";

const modelUrl = new URL(`${process.env.BENCH_MODEL_URL}/responses`);
const keepAlive = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const logs = join(process.env.CODEX_HOME ?? ".", "floor");
mkdirSync(logs, { recursive: true });

/** Thread id → its history as JSON texts, so that a request is joined and never serialised again. */
const histories = new Map();

readLines(process.stdin, (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  answer(message).catch((error) => {
    send({ jsonrpc: "2.0", id: message.id, error: { code: -32603, message: String(error) } });
  });
});
process.stdin.on("end", () => process.exit(0));

async function answer({ id, method, params }) {
  if (method === "tools/call") return send({ jsonrpc: "2.0", id, result: await call(id, params.arguments) });
  if (method !== "initialize") return send({ jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${method}` } });
  const { protocolVersion } = params;
  send({ jsonrpc: "2.0", id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "floor", version: "0" } } });
}

async function call(requestId, { prompt, cwd, threadId = randomUUID() }) {
  const emit = (msg) => {
    send({ jsonrpc: "2.0", method: "codex/event", params: { _meta: { requestId, threadId }, id: String(requestId), msg } });
  };
  if (!histories.has(threadId)) {
    histories.set(threadId, []);
    emit({ type: "session_configured", session_id: threadId, model: "scripted", cwd });
  }
  const text = await runTurn({ threadId, prompt, emit });
  return { content: [{ type: "text", text }], structuredContent: { threadId, content: text } };
}

async function runTurn({ threadId, prompt, emit }) {
  const history = histories.get(threadId);
  const turnBegan = history.length;
  emit({ type: "task_started" });
  history.push(JSON.stringify({ type: "message", role: "user", content: [{ type: "input_text", text: prompt }] }));
  let text = "";
  await askModel(history, (event) => {
    if (event.type === "response.output_text.delta") {
      emit({ type: "agent_message_content_delta", thread_id: threadId, item_id: event.item_id, delta: event.delta });
    } else if (event.type === "response.output_item.done") {
      history.push(JSON.stringify(event.item));
      text = event.item.content.map((part) => part.text).join("");
    }
  });
  appendFile(join(logs, `${threadId}.jsonl`), `${history.slice(turnBegan).join("\n")}\n`, (error) => {
    if (error) process.stderr.write(`${error.message}\n`);
  });
  emit({ type: "agent_message", message: text });
  emit({ type: "task_complete", last_agent_message: text });
  return text;
}

function askModel(history, onEvent) {
  const body = Buffer.from(`{"model":"scripted","stream":true,"instructions":"Be brief.","tools":[],"input":[${history.join(",")}]}`);
  const headers = { "content-type": "application/json", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const asked = request(modelUrl, { method: "POST", agent: keepAlive, headers }, (response) => {
      readLines(response, (line) => {
        if (line.startsWith("data: ")) onEvent(JSON.parse(line.slice(6)));
      });
      response.on("end", resolve).on("error", reject);
    });
    asked.on("error", reject).end(body);
  });
}

function readLines(stream, onLine) {
  let begun = "";
  stream.setEncoding("utf8").on("data", (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", from)) {
      const line = begun + chunk.slice(from, at);
      begun = "";
      from = at + 1;
      if (line !== "") onLine(line);
    }
    begun += chunk.slice(from);
  });
}

// One write per turn of the event loop, however many messages it produced.
let unsent = "";
function send(message) {
  if (unsent === "") setImmediate(flush);
  unsent += `${JSON.stringify(message)}\n`;
}
function flush() {
  const text = unsent;
  unsent = "";
  process.stdout.write(text);
}
