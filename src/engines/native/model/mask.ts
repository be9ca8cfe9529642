/** Shorter values are words that a text may hold by chance. */
const SHORTEST_SECRET = 8;

/** What a server says, without the header values it was sent: some repeat the key that they refuse. */
export function maskSent(text: string, headers: Readonly<Record<string, string>>): string {
  const secrets = Object.values(headers).map((value) => value.replace(/^Bearer /i, ""));
  return secrets.filter(({ length }) => length >= SHORTEST_SECRET).reduce((masked, secret) => masked.replaceAll(secret, "****"), text);
}
