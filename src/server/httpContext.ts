import type { ListenOptions } from "../cli/listenOptions.js";
import type { ServerContext } from "./context.js";

export interface HttpContext extends ServerContext {
  readonly listen: ListenOptions;
}
