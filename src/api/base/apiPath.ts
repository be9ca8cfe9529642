/** Where the API is served. */
export const API_PATH = "/api/v1";
