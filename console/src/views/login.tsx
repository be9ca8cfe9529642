import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { ApiFailure } from "../api/requests.js";
import { logInWith } from "../state/login.js";
import { refusal } from "../state/serverWatch.js";
import { Trouble } from "./trouble.js";

/** The error in words for people, because the server's text names API routes. */
function inOwnWords(error: unknown): unknown {
  return error instanceof ApiFailure && error.code === "login_refused"
    ? new Error("This code does not work: it was already used, has expired, or was not copied whole.")
    : error;
}

/** Shown to a browser that is not logged in. */
export function Login({ error }: { readonly error: unknown }) {
  const id = useId();
  const queries = useQueryClient();
  const login = useMutation({
    mutationFn: logInWith,
    onSuccess() {
      refusal.set(undefined);
      return queries.resetQueries();
    },
  });
  return (
    <main className="login">
      <h1>
        <img src="icon.svg" alt="" width="22" height="22" />
        codex-mcpd
      </h1>
      <p>This browser is not logged in. To log in, do one of these:</p>
      <ul>
        <li>
          Run <code>codex-mcp-server open</code> on the server's machine.
        </li>
        <li>Open the address that the server printed when it started. It works once, within an hour.</li>
        <li>Enter that address's code, or your token:</li>
      </ul>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const secret = new FormData(event.currentTarget).get("secret");
          if (typeof secret === "string" && secret.trim() !== "") login.mutate(secret.trim());
        }}
      >
        <div className="field">
          <label htmlFor={id}>One-time code or bearer token</label>
          <input id={id} name="secret" type="password" autoComplete="off" required />
        </div>
        <button type="submit" className="primary" disabled={login.isPending}>
          Log in
        </button>
      </form>
      <Trouble error={inOwnWords(login.error ?? error)} />
    </main>
  );
}
