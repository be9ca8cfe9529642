/** The names that Codex takes for secrets, and as many words for the same. `AUTH` only as a word of its own: there is GIT_AUTHOR_NAME. */
const SECRET_NAME =
  /KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION|COOKIE|(?:^|_)(?:AUTH|PASS|PAT|JWT|DSN)(?:_|$)|_PWD$|CONNECTION_?STRING/i;

/** Postgres, proxies and the like: an address with a password in it. */
const ADDRESS_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]*:[^\s/?#@]+@/i;

/** Whether a variable is likely to hold a secret, by its name or by its value. */
export function isLikelySecret(name: string, value = ""): boolean {
  return SECRET_NAME.test(name) || ADDRESS_WITH_PASSWORD.test(value);
}
