import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runToEnd } from "../support/processes/runToEnd.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/http.sh", import.meta.url));

it("curl alone is enough: the lines of the example do what they say", async () => {
  expect(await runToEnd(["sh", EXAMPLE], { env: process.env })).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^a session of \d+ messages, and \d+ on a POST of its own\n$/),
    stderr: "",
  });
});
