import { AppError } from "../../lib/errors.js";

/** An access control setting that cannot be used. The message never contains a secret. */
export class AccessMisconfigured extends AppError {
  readonly code = "access_misconfigured";
}

/** Other machines could reach the server without authentication. */
export class UnguardedExposure extends AppError {
  readonly code = "unguarded_exposure";
}
