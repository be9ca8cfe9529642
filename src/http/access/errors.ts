import { AppError } from "../../lib/errors.js";

/** A setting of access control that cannot be used. The sentence never holds a secret. */
export class AccessMisconfigured extends AppError {
  readonly code = "access_misconfigured";
}

/** The server would be reachable from other machines, and nobody would be asked who they are. */
export class UnguardedExposure extends AppError {
  readonly code = "unguarded_exposure";
}
