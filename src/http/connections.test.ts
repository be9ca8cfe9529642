import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import type { Admission } from "./access/identity.js";
import { OpenRequest, OpenRequests } from "./connections.js";

function request(token: string): IncomingMessage {
  const made = new IncomingMessage(new Socket());
  made.headers.authorization = token;
  return made;
}

it("connections whose token is no longer valid, or lost a scope, are ended; others and completed ones are not", async () => {
  const requests = new OpenRequests({ limit: 8 });
  const ended: string[] = [];
  const begin = (token: string) => {
    const open = new OpenRequest(request(token), { destroy: () => ended.push(token) });
    expect(requests.begin(open, { principal: "ada", scopes: ["call", "read"] })).toBe(true);
    return open;
  };
  begin("good");
  begin("withdrawn");
  begin("demoted");
  requests.end(begin("withdrawn, but over"));
  const admit = ({ headers }: IncomingMessage): Admission =>
    headers.authorization?.startsWith("withdrawn")
      ? { answer: { status: 401, headers: {}, body: "" } }
      : { identity: { principal: "ada", scopes: headers.authorization === "demoted" ? ["call"] : ["call", "read"] }, headers: {} };
  await requests.recheck(admit);
  expect(ended).toEqual(["withdrawn", "demoted"]);
});
