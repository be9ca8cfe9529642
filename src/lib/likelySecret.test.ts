import { expect, it } from "vitest";
import { isLikelySecret } from "./likelySecret.js";

it.each([
  "GITHUB_TOKEN",
  "AWS_SECRET_ACCESS_KEY",
  "my_api_key",
  "PGPASSWORD",
  "MYSQL_PWD",
  "SMTP_PASS",
  "GITHUB_PAT",
  "SSH_AUTH_SOCK",
  "npm_config__auth",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "SENTRY_DSN",
  "AZURE_STORAGE_CONNECTION_STRING",
])("%s is likely to be secret", (name) => {
  expect(isLikelySecret(name)).toBe(true);
});

it.each([
  ["DATABASE_URL", "postgres://me:pass@db/app", true],
  ["HTTPS_PROXY", "http://u:p@proxy:3128", true],
  ["DATABASE_URL", "postgres://db/app", false],
  ["LINK", "https://example.org/a:b@c", false],
  ["PATH", "/bin", false],
  ["PWD", "/home/me", false],
  ["OLDPWD", "/", false],
  ["GIT_AUTHOR_NAME", "me", false],
  ["COMPASS", "north", false],
  ["PATTERN", "x", false],
])("%s=%s: %s", (name, value, secret) => {
  expect(isLikelySecret(name, value)).toBe(secret);
});
