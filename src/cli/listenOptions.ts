import { SANDBOX_MODES } from "../exec/policies.js";
import type { OAuthSettings } from "../http/access/oauth/oauthSettings.js";
import { UsageError } from "../lib/errors.js";
import type { ListenOptions } from "../server/httpContext.js";
import { FLAGS, type FlagName, type FlagSpec, flagChoice, flagText, flagTexts, type Values } from "./options.js";

const DEFAULT_HOST = "127.0.0.1";
/** The default port; if it is in use, any free one. */
const DEFAULT_PORTS = [4096, 0];
const MAX_PORT = 65_535;

/** Undefined if the server does not listen. Throws `UsageError` for flags that apply only to a listening server. */
export function listenOptions(values: Values, { serve, env }: { serve: boolean; env: NodeJS.ProcessEnv }): ListenOptions | undefined {
  const port = flagText(values.port);
  const host = flagText(values.host);
  if (!serve && port === undefined && host === undefined) {
    refuseListeningFlags(values);
    return undefined;
  }
  const tokenFile = flagText(values["token-file"]);
  const tls = tlsFlags(values);
  const oauth = oauthFlags(values);
  const maxSandbox = flagChoice("--max-sandbox", flagText(values["max-sandbox"]), SANDBOX_MODES);
  return {
    host: host ?? DEFAULT_HOST,
    ports: port === undefined ? DEFAULT_PORTS : [portNumber(port)],
    allowedHosts: flagTexts(values["allow-host"]),
    corsOrigins: flagTexts(values["cors-origin"]),
    ...(tls ? { tls } : {}),
    tokens: [...flagTexts(values.token), ...(env["CODEX_MCP_TOKEN"] ? [env["CODEX_MCP_TOKEN"]] : [])],
    showsTokens: flagTexts(values.token).length > 0,
    ...(tokenFile === undefined ? {} : { tokenFile }),
    allowUnauthenticated: values["allow-unauthenticated"] === true,
    trustedProxies: flagTexts(values["trusted-proxy"]),
    ...(oauth ? { oauth } : {}),
    ...(maxSandbox === undefined ? {} : { maxSandbox }),
    allowRoots: flagTexts(values["allow-root"]),
    readRoots: flagTexts(values["read-root"]),
    allowConfig: flagTexts(values["allow-config"]),
  };
}

function refuseListeningFlags(values: Values): void {
  for (const name of Object.keys(values)) {
    const spec: FlagSpec | undefined = FLAGS[name as FlagName];
    if (spec?.listening) throw new UsageError(`--${name} is for a server that listens: add --port, or use 'serve'`);
  }
}

function portNumber(given: string): number {
  const port = Number(given);
  if (given.trim() === "" || !Number.isInteger(port) || port < 0 || port > MAX_PORT)
    throw new UsageError(`invalid value '${given}' for --port: expected a number from 0 to ${MAX_PORT}`);
  return port;
}

function tlsFlags(values: Values): ListenOptions["tls"] {
  const cert = flagText(values["tls-cert"]);
  const key = flagText(values["tls-key"]);
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert !== undefined || key !== undefined) throw new UsageError("--tls-cert and --tls-key go together");
  return undefined;
}

function oauthFlags(values: Values): OAuthSettings | undefined {
  const issuer = flagText(values["oauth-issuer"]);
  if (issuer === undefined) {
    const other = (Object.keys(values) as FlagName[]).find((name) => name.startsWith("oauth-"));
    if (other) throw new UsageError(`--${other} needs --oauth-issuer`);
    return undefined;
  }
  const jwks = flagText(values["oauth-jwks"]);
  const manageScope = flagText(values["oauth-manage-scope"]);
  const operatorScope = flagText(values["oauth-operator-scope"]);
  const resource = flagText(values["oauth-resource"]);
  return {
    issuer,
    audiences: flagTexts(values["oauth-audience"]),
    requiredScopes: flagTexts(values["oauth-scope"]),
    ...(jwks === undefined ? {} : { jwks }),
    ...(manageScope === undefined ? {} : { manageScope }),
    ...(operatorScope === undefined ? {} : { operatorScope }),
    ...(resource === undefined ? {} : { resource }),
  };
}
