import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { deferred } from "../../../src/lib/promises.js";

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly [key: string]: unknown;
}

/** Receives spans over OTLP/HTTP, as a collector. */
export class OtlpCollector implements AsyncDisposable {
  readonly #server: Server;
  readonly #received: unknown[] = [];
  status = 200;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<OtlpCollector> {
    const collector: OtlpCollector = new OtlpCollector(
      createServer((request, response) => {
        void text(request).then((body) => {
          if (collector.status === 200) collector.#received.push({ path: request.url, body: JSON.parse(body) });
          response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
        });
      }),
    );
    const listening = deferred<void>();
    collector.#server.listen(0, "127.0.0.1", () => listening.resolve());
    await listening.promise;
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get resources(): unknown[] {
    return this.#exports().map(({ resource }) => resource);
  }

  get spans(): ReceivedSpan[] {
    return this.#exports().flatMap(({ scopeSpans }) => (scopeSpans as { spans: ReceivedSpan[] }[]).flatMap(({ spans }) => spans));
  }

  #exports(): Record<string, unknown>[] {
    return this.#received.flatMap((request) => {
      const { path, body } = request as { path: string; body: { resourceSpans: Record<string, unknown>[] } };
      return path === "/v1/traces" ? body.resourceSpans : [];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    const closed = deferred<void>();
    this.#server.close(() => closed.resolve());
    await closed.promise;
  }
}
