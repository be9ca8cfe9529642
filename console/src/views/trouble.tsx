import { ApiFailure } from "../api/requests.js";

/** An error, announced at once by screen readers. */
export function Trouble({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  if (!error) return null;
  const text = error instanceof Error ? error.message : "Something went wrong.";
  const code = error instanceof ApiFailure && error.status > 0 ? error.code : undefined;
  return (
    <div className="trouble" role="alert">
      <span>{text}</span>
      {code && <code>{code}</code>}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
