import { AppError } from "../../../lib/errors.js";

/** This engine cannot log in or out that way. */
export class LoginNotPossible extends AppError {
  readonly code = "login_not_possible";
}

export class ApiKeyInvalid extends AppError {
  readonly code = "api_key_invalid";
  constructor() {
    super("This is no API key: a key is one word of printable characters.");
  }
}

/** `auth.json` could not be read or written. */
export class LoginNotKept extends AppError {
  readonly code = "login_not_kept";
}
