/** Tells `git` where its repository is; set to a place that is none, every call fails that has not changed it. */
export const GIT_VARIABLE = "GIT_DIR";
export const NO_REPOSITORY = "/dev/null";
