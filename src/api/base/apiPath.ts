/** The path prefix of the API. */
export const API_PATH = "/api/v1";
