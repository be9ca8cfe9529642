import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import type { AccountResource, DoctorReport, Health, Me, ModelList, ProjectList } from "../../../src/api/schemas/server.js";
import type { ApprovalList, ThreadPageResource, ThreadResource } from "../../../src/api/schemas/threads.js";
import { request } from "../api/requests.js";

export const APPROVALS = "approvals";
export const THREADS = "threads";
export const THREAD = "thread";
export const PROJECTS = "projects";
export const ME = "me";

const WHILE_RUNNING_MS = 3_000;
const THREADS_PAGE = 50;

export interface ThreadFilter {
  readonly search: string;
  readonly cwd: string;
  readonly archived: boolean;
}

/** The filter with which the list is first shown. */
export const ALL_THREADS: ThreadFilter = { search: "", cwd: "", archived: false };

/** All open questions. */
export function useApprovals() {
  return useQuery({
    queryKey: [APPROVALS],
    queryFn: ({ signal }) => request<z.infer<typeof ApprovalList>>("approvals", { signal }),
  });
}

export function useThreads({ search, cwd, archived }: ThreadFilter) {
  return useInfiniteQuery({
    queryKey: [THREADS, search, cwd, archived],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) =>
      request<z.infer<typeof ThreadPageResource>>("threads", {
        signal,
        query: {
          limit: THREADS_PAGE,
          cursor: pageParam,
          search: search || undefined,
          cwd: cwd || undefined,
          archived: archived ? "true" : undefined,
        },
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    // The server's event stream does not contain the current step of a turn, so it is polled.
    refetchInterval: ({ state }) => (state.data?.pages[0]?.threads.some(isBusy) ? WHILE_RUNNING_MS : false),
  });
}

function isBusy({ state }: { readonly state: string }): boolean {
  return state !== "idle";
}

export function useThread(threadId: string) {
  return useQuery({
    queryKey: [THREAD, threadId],
    queryFn: ({ signal }) => request<z.infer<typeof ThreadResource>>(`threads/${encodeURIComponent(threadId)}`, { signal }),
    refetchInterval: ({ state }) => (state.data && isBusy(state.data) ? WHILE_RUNNING_MS : false),
  });
}

export function useProjects() {
  return useQuery({ queryKey: [PROJECTS], queryFn: ({ signal }) => request<z.infer<typeof ProjectList>>("projects", { signal }) });
}

export function useMe() {
  return useQuery({ queryKey: [ME], queryFn: ({ signal }) => request<z.infer<typeof Me>>("me", { signal }) });
}

/** False for a login that may only watch. The server checks it in any case. */
export function useMayCall(): boolean {
  const { data: me } = useMe();
  return me === undefined || me.scopes.includes("call") || me.scopes.includes("operator");
}

export function useHealth() {
  return useQuery({ queryKey: ["health"], queryFn: ({ signal }) => request<z.infer<typeof Health>>("health", { signal }) });
}

export function useModels() {
  return useQuery({
    queryKey: ["models"],
    staleTime: 5 * 60_000,
    queryFn: ({ signal }) => request<z.infer<typeof ModelList>>("models", { signal }),
  });
}

export function useAccount() {
  return useQuery({ queryKey: ["account"], queryFn: ({ signal }) => request<z.infer<typeof AccountResource>>("account", { signal }) });
}

export function useDoctor() {
  return useQuery({
    queryKey: ["doctor"],
    staleTime: 60_000,
    queryFn: ({ signal }) => request<z.infer<typeof DoctorReport>>("doctor", { signal }),
  });
}
