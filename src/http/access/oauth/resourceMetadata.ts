import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { jsonAnswer } from "../answers.js";
import type { HttpAnswer } from "../identity.js";
import { requestPath } from "../requestHeaders.js";
import type { OAuthSettings } from "./oauthSettings.js";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
/** Tells clients where to get tokens for this server (RFC 9728). */
export class ResourceMetadata {
  readonly #settings: OAuthSettings;
  readonly #path: string;
  constructor(
    settings: OAuthSettings,
    /** The path of the resource; the root is an alias. */
    path: string,
  ) {
    this.#settings = settings;
    this.#path = path;
  }

  /** The URL for a challenge. */
  urlFor(request: IncomingMessage): string {
    const { origin, pathname } = new URL(this.#resource(request, requestPath(request) === "/" ? "/" : this.#path));
    return `${origin}${WELL_KNOWN}${pathname === "/" ? "" : pathname}`;
  }

  answer(request: IncomingMessage): HttpAnswer | undefined {
    const suffix = requestPath(request).slice(WELL_KNOWN.length);
    if (!requestPath(request).startsWith(WELL_KNOWN) || !this.#isServed(suffix)) return undefined;
    const { issuer, requiredScopes, manageScope, operatorScope } = this.#settings;
    const scopes = [...requiredScopes, manageScope, operatorScope].filter((scope) => scope !== undefined);
    return jsonAnswer(200, {
      resource: this.#resource(request, suffix || "/"),
      authorization_servers: [issuer],
      bearer_methods_supported: ["header"],
      resource_name: "codex-mcpd",
      ...(scopes.length > 0 ? { scopes_supported: scopes } : {}),
    });
  }

  #isServed(suffix: string): boolean {
    const { resource } = this.#settings;
    return ["", "/", this.#path].includes(suffix) || (resource !== undefined && suffix === new URL(resource).pathname);
  }

  /** `Host` was checked before, so no foreign name gets into the document. */
  #resource(request: IncomingMessage, path: string): string {
    if (this.#settings.resource !== undefined) return this.#settings.resource;
    return `${request.socket instanceof TLSSocket ? "https" : "http"}://${request.headers.host}${path}`;
  }
}
