import { expect, it } from "vitest";
import { rpc } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage } from "../support/stage.js";

const MODEL = "tools.0.inputSchema.properties.model.description";

it("models that were once requested are named in the tool lists of later servers, on stdio and over HTTP", async () => {
  await using stage = await setStage();
  const args = ["--engine", "scripted", "--model", "some-model"];
  {
    await using server = await startServer({ stage, args });
    await server.initialize();
    expect(valueAt(await server.request("tools/list"), MODEL)).toBe("Omit unless the user names one.");
    await server.call("codex-models", {}).result();
    expect(valueAt(await server.request("tools/list"), MODEL)).toBe("Omit unless the user names one.");
    await server.closeAndWait();
  }
  const named = "Omit unless the user names one. Offered: some-model.";
  {
    await using server = await startServer({ stage, args });
    await server.initialize();
    await server.request("ping");
    expect(valueAt(await server.request("tools/list"), MODEL)).toBe(named);
  }
  await using server = await startHttpServer({ stage });
  const { body } = await server.ask({ message: rpc(1, "tools/list", {}) });
  expect(valueAt(body, `result.${MODEL}`)).toBe(named);
});
