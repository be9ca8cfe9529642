import { expect, it } from "vitest";
import { maskedConfig } from "./maskedConfig.js";

it("settings are shown without their secrets, and with their sources", () => {
  const config = {
    model: "gpt-6.1-sol",
    model_auto_compact_token_limit: 1000,
    features: { unified_exec: true },
    developer_instructions: "Send Authorization: Bearer abcdefgh12345678 along.",
    model_providers: {
      mine: {
        base_url: "https://user:word@host/v1",
        env_key: "MY_KEY",
        experimental_bearer_token: "plain",
        http_headers: { "x-anything": "secret" },
        env_http_headers: { "x-other": "VARIABLE" },
        query_params: { "api-version": "1" },
      },
    },
    shell_environment_policy: { inherit: "all", set: { LEVEL: "3" }, exclude: ["*KEY*"] },
    mcp_servers: {
      one: {
        command: "program",
        args: ["--token", "hush", "--api-key=hush", "-v", "--port", "80", "sk-0123456789abc"],
        env: { ANY: "hush" },
        env_vars: ["PASSED_ON"],
        bearer_token_env_var: "VARIABLE",
        startup_timeout_sec: 10,
      },
    },
  };
  expect(maskedConfig(config)).toEqual({
    model: "gpt-6.1-sol",
    model_auto_compact_token_limit: 1000,
    features: { unified_exec: true },
    developer_instructions: "Send Authorization: ****",
    model_providers: {
      mine: {
        base_url: "https://****@host/v1",
        env_key: "MY_KEY",
        experimental_bearer_token: "****",
        http_headers: { "x-anything": "****" },
        env_http_headers: { "x-other": "VARIABLE" },
        query_params: { "api-version": "****" },
      },
    },
    shell_environment_policy: { inherit: "all", set: { LEVEL: "****" }, exclude: ["*KEY*"] },
    mcp_servers: {
      one: {
        command: "program",
        args: ["--token", "****", "--api-key=****", "-v", "--port", "80", "****"],
        env: { ANY: "****" },
        env_vars: ["PASSED_ON"],
        bearer_token_env_var: "VARIABLE",
        startup_timeout_sec: 10,
      },
    },
  });
});
