import { describe, expect, it } from "vitest";
import { RPC, RpcError } from "./errors.js";
import { errorText, jsonText, notificationText, parseJson, parseMessage, requestText, resultText } from "./message.js";

const parseError = new RpcError(RPC.parseError, "Parse error: the line is not valid JSON");
const noMethod = new RpcError(RPC.invalidRequest, "Invalid request: `method` must be a string");

describe("requests", () => {
  it.for([
    ["a string", '"turn-a"', "turn-a"],
    ["the empty string", '""', ""],
    ["a positive integer", "7", 7],
    ["zero", "0", 0],
    ["a negative integer", "-3", -3],
    ["2^53", "9007199254740992", 2 ** 53],
    ["an integer written with a fraction of zero", "4.0", 4],
  ] as const)("an id may be %s and keeps its type and value", ([, written, id]) => {
    expect(parseMessage(`{"jsonrpc":"2.0","id":${written},"method":"ping"}`)).toEqual({
      kind: "request",
      id,
      method: "ping",
      params: undefined,
    });
  });

  it.for([
    ["missing", '{"id":1,"method":"ping","params":{"a":1}}'],
    ["of version 1.0", '{"jsonrpc":"1.0","id":1,"method":"ping","params":{"a":1}}'],
  ] as const)("are taken with `jsonrpc` %s", ([, text]) => {
    expect(parseMessage(text)).toEqual({ kind: "request", id: 1, method: "ping", params: { a: 1 } });
  });

  it.for(["1.5", "null", "true", "{}", "[1]"])("with the id %s are not answered, only reported", (id) => {
    expect(parseMessage(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).toEqual({
      kind: "unreadable",
      problem: "not-a-message",
      reason: "the id of `ping` is neither a string nor an integer",
    });
  });

  it("with an id of thousands of characters are not answered either, because every message about a request repeats its id", () => {
    expect(parseMessage(`{"id":"${"x".repeat(4_097)}","method":"ping"}`)).toEqual({
      kind: "unreadable",
      problem: "not-a-message",
      reason: "the id of `ping` has more than 4096 characters",
    });
    expect(parseMessage(`{"id":"${"x".repeat(4_096)}","method":"ping"}`)).toMatchObject({ kind: "request" });
  });

  it("with a usable id and no readable method are answered", () => {
    for (const text of ['{"jsonrpc":"2.0","id":5,"method":7}', '{"jsonrpc":"2.0","id":5}'])
      expect(parseMessage(text)).toEqual({
        kind: "unreadable",
        problem: "not-a-message",
        reason: "no method",
        answer: { id: 5, error: noMethod },
      });
  });
});

it("a batch of more messages than may be in flight is refused as a whole", () => {
  const batch = (length: number) => parseMessage(JSON.stringify(Array.from({ length }, (_, id) => ({ id, method: "ping" }))));
  expect(batch(1_000)).toHaveLength(1_000);
  expect(batch(1_001)).toMatchObject({ kind: "unreadable", answer: { id: null }, reason: "a batch of 1001 messages; 1000 are the limit" });
});

it("a byte order mark before a message is ignored", () => {
  expect(parseMessage('\uFEFF{"jsonrpc":"2.0","id":1,"method":"ping"}')).toEqual({
    kind: "request",
    id: 1,
    method: "ping",
    params: undefined,
  });
});

it("half a character is replaced, because the message's content is sent to strict readers", () => {
  expect(parseMessage('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud83d"}}')).toMatchObject({ params: { a: "\uFFFD" } });
});

it("a message without an id is a notification", () => {
  expect(parseMessage('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')).toEqual({
    kind: "notification",
    method: "notifications/cancelled",
    params: { requestId: 2 },
  });
});

describe("responses", () => {
  it("carry a result, which may be null", () => {
    expect(parseMessage('{"jsonrpc":"2.0","id":"a","result":null}')).toEqual({ kind: "response", id: "a", outcome: { result: null } });
  });

  it("carry an error with its code, message and data", () => {
    expect(parseMessage('{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no","data":[1]}}')).toEqual({
      kind: "response",
      id: 0,
      outcome: { error: new RpcError(-1, "no", [1]) },
    });
  });

  it("an unreadable error is still an error", () => {
    for (const error of ["null", '"broken"', "{}", '{"code":"x","message":5}'])
      expect(parseMessage(`{"id":0,"error":${error}}`)).toEqual({
        kind: "response",
        id: 0,
        outcome: { error: new RpcError(RPC.internalError, "unreadable error") },
      });
  });
});

describe("an invalid message", () => {
  it.for([
    ["an empty line", "", "0 characters that are not JSON"],
    ["blanks", "   ", "3 characters that are not JSON"],
    ["a stray print", "Listening on port 80", "20 characters that are not JSON"],
    ["a Content-Length header", "Content-Length: 58", "18 characters that are not JSON"],
    ["a scalar", "5", "not a JSON object"],
    ["a string", '"ping"', "not a JSON object"],
    ["null", "null", "not a JSON object"],
    ["an empty object", "{}", "neither a request, a notification nor a response"],
    ["a method that is no string, without an id", '{"method":5}', "neither a request, a notification nor a response"],
    ["a result without an id", '{"result":{}}', "neither a request, a notification nor a response"],
  ] as const)("%s gets no answer, only a log line", ([, text, reason]) => {
    const problem = reason.endsWith("not JSON") ? "not-json" : "not-a-message";
    expect(parseMessage(text)).toEqual({ kind: "unreadable", problem, reason });
  });

  it.for(['{"jsonrpc":"2.0","id":1', "{not json}", "[1,", '  {"a":}'])(
    "%j looks like JSON, so its sender learns that it is not",
    (text) => {
      expect(parseMessage(text)).toEqual({
        kind: "unreadable",
        problem: "not-json",
        reason: `${text.length} characters that are not JSON`,
        answer: { id: null, error: parseError },
      });
    },
  );

  it("the reason never repeats the input", () => {
    expect(JSON.stringify(parseMessage("{secret"))).not.toContain("secret");
  });
});

it("an array is read entry by entry", () => {
  expect(parseMessage('[{"id":1,"method":"ping"},{"method":"note"},5,[]]')).toEqual([
    { kind: "request", id: 1, method: "ping", params: undefined },
    { kind: "notification", method: "note", params: undefined },
    { kind: "unreadable", problem: "not-a-message", reason: "not a JSON object" },
    { kind: "unreadable", problem: "not-a-message", reason: "not a JSON object" },
  ]);
  expect(parseMessage("[]")).toEqual([]);
});

describe("messages are written with their keys in Codex's order", () => {
  it("results", () => {
    expect(resultText("a", { tools: [] })).toBe('{"id":"a","jsonrpc":"2.0","result":{"tools":[]}}');
    expect(resultText(0, undefined)).toBe('{"id":0,"jsonrpc":"2.0","result":null}');
  });

  it("errors", () => {
    expect(errorText(1, new RpcError(-32601, "no", { method: "x" }))).toBe(
      '{"error":{"code":-32601,"message":"no","data":{"method":"x"}},"id":1,"jsonrpc":"2.0"}',
    );
    expect(errorText(null, new RpcError(-32700, "no"))).toBe('{"error":{"code":-32700,"message":"no"},"id":null,"jsonrpc":"2.0"}');
  });

  it("requests and notifications", () => {
    expect(requestText(0, "elicitation/create", { message: "?" })).toBe(
      '{"id":0,"jsonrpc":"2.0","method":"elicitation/create","params":{"message":"?"}}',
    );
    expect(notificationText("codex/event", { id: "2" })).toBe('{"jsonrpc":"2.0","method":"codex/event","params":{"id":"2"}}');
  });

  it("and never over more than one line", () => {
    expect(resultText(1, { text: "a\nb\r\u2028c" })).not.toMatch(/[\n\r]/);
  });
});

const LONG = "9007199254740993";

describe("an id that a number cannot hold", () => {
  it.for([
    `{"id":${LONG},"method":"ping"}`,
    `{"id":-${LONG}0000,"method":"ping"}`,
    `{"method":"notifications/cancelled","params":{"requestId":${LONG},"reason":"no"}}`,
    `{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":${LONG},"other":1},"name":"codex"}}`,
    `[{"id":${LONG}},{"id":2},{"id":"${LONG}"},{"id":"\\"${LONG}"}]`,
  ])("is written exactly as it was read: %s", (text) => {
    expect(jsonText(parseJson(text))).toBe(text);
  });

  it("is distinguished from neighbouring numbers", () => {
    expect([LONG, "9007199254740995"].map((id) => parseJson(`{"id":${id}}`))).toEqual([
      { id: 9007199254740993n },
      { id: 9007199254740995n },
    ]);
  });

  it("is found whatever the strings around it contain", () => {
    const text = `{"params":{"text":"\\\\\\"id\\":${LONG}","requestId":1},"id":${LONG}}`;
    expect(parseJson(text)).toEqual({ params: { text: `\\"id":${LONG}`, requestId: 1 }, id: 9007199254740993n });
  });
});

it("the rest of the message is read as usual", () => {
  const text = `{"id":9007199254740992,"params":{"arguments":{"id":${LONG},"list":[${LONG}]},"requestId":1e30,"_meta":{"progressToken":9007199254740993.0}}}`;
  expect(parseJson(text)).toEqual(JSON.parse(text));
  expect(parseJson(`{"id":${LONG},"params":[${LONG}]}`)).toEqual({ id: 9007199254740993n, params: [9007199254740992] });
  for (const plain of ["null", "[]", '"x"', "1", '{"params":null}', '{"id":1,"params":{"_meta":null}}'])
    expect(parseJson(plain)).toEqual(JSON.parse(plain));
});

it("text that is no JSON is refused", () => {
  expect(() => parseJson("{")).toThrow(SyntaxError);
});

it("a value that is not JSON is refused as before", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  expect(() => jsonText(circle)).toThrow(TypeError);
  expect(jsonText(undefined)).toBe("null");
});
