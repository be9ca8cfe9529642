import type { IncomingMessage } from "node:http";
import { INSIDE_CALLER, isMarked } from "../../mcp/inside.js";
import type { Admission } from "./admission.js";

type Admit = (request: IncomingMessage) => Admission | Promise<Admission>;

/**
 * The same gate; whoever comes from inside a turn is nobody else, whatever token it has. A turn says so itself when it calls a server on HTTP,
 * since an address may lead back here by any name and through any proxy; of other processes the gate knows whether this server started them.
 */
export function tellingInsiders(admit: Admit): Admit {
  return (request) => {
    const admission = admit(request);
    return admission instanceof Promise ? admission.then((settled) => told(request, settled)) : told(request, admission);
  };
}

function told(request: IncomingMessage, admission: Admission): Admission {
  if ("answer" in admission || !(admission.visitor.inside || isMarked(request.headers))) return admission;
  return { ...admission, visitor: INSIDE_CALLER };
}
