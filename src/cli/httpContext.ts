import type { ServerContext } from "./context.js";
import type { ListenOptions } from "./listenOptions.js";

export interface HttpContext extends ServerContext {
  readonly listen: ListenOptions;
}
