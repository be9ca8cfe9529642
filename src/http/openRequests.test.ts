import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import type { Admission } from "./access/admission.js";
import { OpenRequest, OpenRequests } from "./openRequests.js";

function request(token: string): IncomingMessage {
  const made = new IncomingMessage(new Socket());
  made.headers.authorization = token;
  return made;
}

it("connections whose token is no good any more are ended, the others and those that are over are not", async () => {
  const visits = new OpenRequests();
  const ended: string[] = [];
  const begin = (token: string) => {
    const visit = new OpenRequest(request(token), { destroy: () => ended.push(token) });
    visits.begin(visit);
    return visit;
  };
  begin("good");
  begin("withdrawn");
  visits.end(begin("withdrawn, but over"));
  const admit = ({ headers }: IncomingMessage): Admission =>
    headers.authorization?.startsWith("withdrawn")
      ? { answer: { status: 401, headers: {}, body: "" } }
      : { visitor: { principal: "ada" as never, scopes: ["call", "read"] }, headers: {} };
  await visits.recheck(admit);
  expect(ended).toEqual(["withdrawn"]);
});
