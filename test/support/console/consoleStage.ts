import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { type HttpServer, startHttpServer } from "../http/httpServer.js";
import { configNaming } from "../model/mockProvider.js";
import { type ResponsesServer, startResponsesServer } from "../model/responsesServer.js";
import { type Stage, setStage } from "../stage.js";
import { browserProgram, launchBrowser, Visitor } from "./consoleBrowser.js";
import { ConsoleFront } from "./consoleFront.js";
import { furnishProjects, type Scene, SceneModel } from "./scenes.js";

/** The console's tests are skipped with a message if there is no browser. */
export function isWithoutBrowser(): boolean {
  const isWithout = browserProgram() === undefined;
  if (isWithout) console.warn("SKIPPED: there is no Chromium for the tests of the console (apt-get install chromium).");
  return isWithout;
}

/** A server with the scripted model, a proxy with the console, and a browser. */
export class ConsoleStage implements AsyncDisposable {
  private constructor(
    readonly browser: Browser,
    readonly stage: Stage,
    public server: HttpServer,
    readonly front: ConsoleFront,
    readonly model: ResponsesServer | undefined,
  ) {}

  static async open(): Promise<ConsoleStage> {
    const stage = await setStage();
    const server = await serverOn(stage);
    return new ConsoleStage(await launchBrowser(), stage, server, await ConsoleFront.open(server.origin), undefined);
  }

  /** The same with three projects, an MCP server for the agent, and a model that plays these scenes. */
  static async openScenes(scenes: readonly Pick<Scene, "prompt" | "script">[]): Promise<ConsoleStage> {
    const program = fileURLToPath(new URL("../../programs/mcpServerOfficial.mjs", import.meta.url));
    const tools = `[mcp_servers.official]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(program)}]\n`;
    const stage = await setStage();
    await furnishProjects(stage.workspace);
    const actor = new SceneModel(scenes);
    const model = await startResponsesServer({ respond: ({ body }) => actor.answer(body), models: () => [MODEL] });
    const server = await startHttpServer({
      stage,
      config: configNaming(MODEL, model.url) + tools,
      args: ["--engine", "native", "--approval-fallback", "hold"],
    });
    return new ConsoleStage(await launchBrowser(), stage, server, await ConsoleFront.open(server.origin), model);
  }

  /** The folder that threads work in. */
  get cwd(): string {
    return this.stage.workspace;
  }

  come(options: BrowserContextOptions = {}): Promise<Visitor> {
    return Visitor.come(this.browser, this.front.address, options);
  }

  /** Kills the server; `startAgain` starts another one. */
  async kill(): Promise<void> {
    this.server.running.process.kill("SIGKILL");
    await this.server.running[Symbol.asyncDispose]();
  }

  async startAgain(): Promise<void> {
    this.server = await serverOn(this.stage);
    this.front.target = this.server.origin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.front[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    await this.model?.[Symbol.asyncDispose]();
    await this.stage[Symbol.asyncDispose]();
  }
}

const MODEL = "gpt-6.1-sol";

function serverOn(stage: Stage): Promise<HttpServer> {
  return startHttpServer({ stage, args: ["--approval-fallback", "hold"] });
}
