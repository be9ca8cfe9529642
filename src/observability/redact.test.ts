import { describe, expect, it } from "vitest";
import { SeededRandom } from "../../test/support/patch/random.js";
import { Redactor } from "./redact.js";

/** Characters that some encodings write differently. */
const ALPHABET = [..."abcXYZ059-_.~!$&'()*+,;:=@/[]{}|^\"\\% äé€"];

function masked(text: string, redactor = new Redactor()): string {
  return redactor.mask(text);
}

describe("texts that look like secrets", () => {
  it.for([
    ["Authorization: Bearer abc.def-ghi", "Authorization: ****"],
    ["got BEARER abc, then", "got BEARER ****, then"],
    ["bearer%20abc&x=1", "bearer%20****&x=1"],
    ["Bearer\nabc\nnext", "Bearer\n****\nnext"],
    ['{"authorization":"Basic dXNlcjpwYXNz","host":"h"}', '{"authorization":"****","host":"h"}'],
    ['{\\"Authorization\\":\\"Bearer abc\\",\\"x\\":1}', '{\\"Authorization\\":\\"****\\",\\"x\\":1}'],
    ["Basic dXNlcjpwYXM=", "Basic ****"],
    ["basic abcdbasic dXNlcjpwYXM=", "basic abcdbasic ****"],
    ["basic+basic+dXNlcjpwYXM%3D", "basic+****"],
    ["id-eyJhbGciOiJIUzI1NiJ9 -eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0", "id-eyJhbGciOiJIUzI1NiJ9 -****"],
    ["cookie: a=b; c=d\nhost: h", "cookie: ****\nhost: h"],
    ['rawHeaders ["Set-Cookie","a=b; HttpOnly","Host","h"]', 'rawHeaders ["Set-Cookie","****","Host","h"]'],
    ["X-API-KEY=k1", "X-API-KEY=****"],
    ["key sk-proj-abcdef_123456 used", "key **** used"],
    ["SK-ABCDEF123456", "****"],
    ["ghp_abcdefghijklmnop1234", "****"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "****"],
    ["OPENAI_API_KEY=foo node x", "OPENAI_API_KEY=**** node x"],
    ["{ myApiKey: 'foo' }", "{ myApiKey: '****' }"],
    [
      '{"tokens":{"access_token":"a\\"b","refresh_token":"r","id_token":"i"}}',
      '{"tokens":{"access_token":"****","refresh_token":"****","id_token":"****"}}',
    ],
    ["https://user:p@ss@host/x", "https://****@host/x"],
    ["https:\\/\\/user:pass@host", "https:\\/\\/****@host"],
    ["https://h/x?a=1&token=abc&b=2", "https://h/x?a=1&token=****&b=2"],
    ["next=https%3A%2F%2Fh%3Fcode%3Dabc%26b%3D2", "next=https%3A%2F%2Fh%3Fcode%3D****%26b%3D2"],
    ["password: hunter2", "password: ****"],
  ])("is masked in %j", ([text, expected]) => {
    expect(masked(text ?? "")).toBe(expected);
  });

  it.for([
    "turn ended outcome=completed ms=12 input_tokens=5 total_tokens: 7",
    "progressToken: 7, first_token_ms=3",
    "task-runner risk-assessment disk-usage-report",
    "listening on http://127.0.0.1:4096/mcp",
    "unexpected token: }",
    "use basic authentication",
    "thread 0190c0de-0000-7000-8000-000000000000 of codex-mcp-server",
  ])("leaves %j alone", (text) => {
    expect(masked(text)).toBe(text);
  });
});

describe("a known secret", () => {
  const spellings: Readonly<Record<string, (secret: string) => string>> = {
    plain: (secret) => secret,
    "upper case": (secret) => secret.toUpperCase(),
    "in JSON": (secret) => JSON.stringify({ k: secret }),
    "in JSON within JSON": (secret) => JSON.stringify({ k: JSON.stringify({ k: secret }) }),
    "url-encoded": (secret) => `?q=${encodeURIComponent(secret)}&r=1`,
    "url-encoded in lower case": (secret) => encodeURIComponent(secret).toLowerCase(),
    "every byte encoded": (secret) => [...Buffer.from(secret)].map((byte) => `%${byte.toString(16)}`).join(""),
    "split by line breaks": (secret) => [...secret].join("\n"),
    "split by escaped line breaks": (secret) => `${secret.slice(0, 5)}\\r\\n${secret.slice(5)}`,
    "twice in a word": (secret) => `x${secret}y${secret}z`,
  };

  it.for(Object.keys(spellings))("appears nowhere, %s", (name) => {
    const random = new SeededRandom(20_260_801);
    for (let round = 0; round < 200; round++) {
      const middle = Array.from(
        { length: 4 + random.below(round % 4 === 0 ? 200 : 20) },
        () => ALPHABET[random.below(ALPHABET.length)],
      ).join("");
      const secret = `q${middle}Q`;
      const redactor = new Redactor();
      redactor.learn(secret);
      const text = spellings[name]?.(secret) ?? "";
      const trace = redactor.mask(text).toLowerCase();
      expect(trace, `${JSON.stringify(secret)} in ${text}`).toContain("****");
      expect(trace).not.toContain(middle.toLowerCase());
      expect(trace).not.toContain(encodeURIComponent(middle).toLowerCase());
    }
  });

  it("is recognised by the name of its variable", () => {
    const redactor = Redactor.forEnvironment({
      CODEX_MCP_TOKEN: "hello-world",
      HOME: "/home/me",
      PWD: "/home/me/project",
      SHORT_KEY: "ab",
      DB_PASSWORD: " trimmed ",
    });
    expect(redactor.mask("hello-world in /home/me/project, about trimmed")).toBe("**** in /home/me/project, about ****");
  });

  it("may have any length, and there may be many", () => {
    const random = new SeededRandom(20_261_115);
    const long = (length: number) => Array.from({ length }, () => 'abcdefghijklmnopqrstuvwxyz0123456789\n"%/'[random.below(40)]).join("");
    const secrets = [...Array.from({ length: 500 }, () => `<${long(5_000)}>`), `<${long(15_000)}>`, `<${long(2_000)}>`, `<${long(30)}>`];
    const redactor = new Redactor();
    for (const secret of secrets) redactor.learn(secret);
    for (const secret of [secrets[0], secrets[499], secrets[500], secrets[501], secrets[502]])
      for (const text of [secret, JSON.stringify({ secret }), JSON.stringify(JSON.stringify(secret)), encodeURIComponent(secret ?? "")]) {
        const trace = masked(text ?? "", redactor);
        expect(trace).toContain("****");
        expect(trace.replaceAll("*", "").length, trace).toBeLessThan(40);
      }
  });

  it.for(["🔑abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmn%252Fopqrstuvwxyz", `${"-".repeat(63)}\\\\abc`])(
    "%j is found, and its beginning alone is not masked",
    (secret) => {
      const redactor = new Redactor();
      redactor.learn(secret);
      expect(redactor.mask(`a ${secret} b`)).toBe("a **** b");
      expect(redactor.mask(`a ${secret.slice(0, 18)} b`)).toBe(`a ${secret.slice(0, 18)} b`);
    },
  );

  it("is not an ordinary word with line breaks in it", () => {
    const redactor = new Redactor();
    redactor.learn("on\n\n\n\n\nce");
    expect(redactor.mask("at once")).toBe("at once");
  });

  it("may be a prefix of another", () => {
    const redactor = new Redactor();
    redactor.learn("abcdef");
    redactor.learn("abcdefghi");
    expect(redactor.mask("abcdefghi abcdefx")).toBe("**** ****x");
  });
});

it("fields with secret names are always masked, others only if their value is secret", () => {
  const line = { time: new Date(0), level: "info", target: undefined, message: "sent Bearer x1" } as const;
  const fields = { Authorization: "x", token: 5, cookie: undefined, url: "http://a:b@c/", ms: 5, ok: true, none: null };
  expect(new Redactor().maskLine({ ...line, fields })).toEqual({
    ...line,
    message: "sent Bearer ****",
    fields: { Authorization: "****", token: "****", cookie: undefined, url: "http://****@c/", ms: 5, ok: true, none: null },
  });
});

it("long texts are cut, and no part of a secret remains at the cut", () => {
  const redactor = new Redactor();
  redactor.learn("0123456789abcdef");
  const text = "0123456789abcdef ".repeat(10_000);
  expect(redactor.mask(text)).toMatch(/^(?:\*{4} )+[* ]*… \(shortened\)$/);
  expect(redactor.mask("a ".repeat(20_000)).length).toBeLessThan(17_000);
});

it.for([
  ["pass\\\\\\\\\\\\word", "pass", "\\"],
  ["\\secret-one", "", "\\"],
  ["/secret/two", "", "\\"],
  ["\\n\\n\\n\\n\\n\\n\\nX1234", "", "\\n"],
  ["%0a%0a%0a%0a%0a%0a%0aX1234", "", "%0a"],
  ["%3%3%3%39-secret", "", "%3"],
  ["\\ab\\ac\\ad", "", "\\\\r"],
] as const)("the secret %j does not make masking slow", ([secret, start, piece]) => {
  const redactor = new Redactor();
  redactor.learn(secret);
  // A pattern with backtracking over the backslashes would exceed the limit of the test.
  expect(redactor.mask(start + piece.repeat(60_000 / piece.length)).length).toBeLessThan(17_000);
  expect(redactor.mask(`a ${secret} b ${JSON.stringify(secret)} c ${encodeURIComponent(secret)} d`)).toBe('a **** b "****" c **** d');
});

it("a text that is made to be slow is masked in linear time", () => {
  const redactor = new Redactor();
  redactor.learn("aaaaaaaaaaaaaaaaaaaaaaab");
  const pieces = ["a", "a_", "://", 'authorization:"', "bearer ", "token=", "sk-", "eyJ", 'secret"', "\\", " ", "key\\\\", "a\n"];
  // Quadratic work on 64 KiB takes minutes and would exceed the limit of the test.
  for (const piece of pieces) expect(redactor.mask(`${piece.repeat(64_000 / piece.length)}key:`).length).toBeLessThan(17_000);
});
