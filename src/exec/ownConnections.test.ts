import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { OwnConnections } from "./ownConnections.js";

it("knows the connections of this process while they are open, by where the other side sees them come from", async () => {
  const own = new OwnConnections();
  const server = createServer().listen(0, "::");
  onTestFinished(() => {
    own.close();
    server.close();
  });
  await once(server, "listening");
  const address = server.address();
  const coming = once(server, "connection");
  const client = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
  const [{ remoteAddress = "", remotePort = 0 }] = (await coming) as [Socket];
  await once(client, "connect");
  expect(remoteAddress).toBe("::ffff:127.0.0.1");
  expect([own.has(remoteAddress, remotePort), own.has(remoteAddress, remotePort + 1)]).toEqual([true, false]);
  client.destroy();
  await once(client, "close");
  expect(own.has(remoteAddress, remotePort)).toBe(false);
});
