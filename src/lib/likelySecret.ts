/** The names that Codex treats as secrets, and synonyms. `AUTH` matches only as a whole word, because of GIT_AUTHOR_NAME. */
const SECRET_NAME =
  /KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION|COOKIE|(?:^|_)(?:AUTH|PASS|PAT|JWT|DSN)(?:_|$)|_PWD$|CONNECTION_?STRING/i;

/** A connection URL with a password in it, such as one for Postgres or a proxy. */
const ADDRESS_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@:]*:[^\s/?#@]+@/i;

/** Whether a variable is likely to hold a secret, by its name or by its value. */
export function isLikelySecret(name: string, value = ""): boolean {
  return SECRET_NAME.test(name) || ADDRESS_WITH_PASSWORD.test(value);
}
