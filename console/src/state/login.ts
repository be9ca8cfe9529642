import { ApiFailure, apiUrl, failureOf, reached, request } from "../api/requests.js";

/** Removes the one-time code from the page's address and history, and returns it. */
export function codeInAddress(): string | undefined {
  const code = shownCode();
  if (code !== undefined) history.replaceState(null, "", location.pathname);
  return code;
}

export function hasCode(): boolean {
  return shownCode() !== undefined;
}

function shownCode(): string | undefined {
  const inHash = new URLSearchParams(location.hash.replace(/^#\/?\??/, "")).get("code");
  return (inHash ?? new URLSearchParams(location.search).get("code")) || undefined;
}

/** Throws `ApiFailure`. Afterwards the browser has a cookie. */
export function logInWithCode(code: string): Promise<void> {
  return request("login", { method: "POST", body: { code } });
}

/** Ends the login of this browser. */
export function logOut(): Promise<void> {
  return request("logout", { method: "POST" });
}

/** Logs in with what the user typed: a one-time code or, if it is not one, a bearer token. */
export async function logInWith(secret: string): Promise<void> {
  try {
    await logInWithCode(secret);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status === 0) throw error;
    const response = await reached(apiUrl("login"), {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: "{}",
    });
    if (!response.ok) throw response.status === 401 ? error : await failureOf(response);
  }
}
