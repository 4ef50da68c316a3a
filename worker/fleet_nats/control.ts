/**
 * A session's calls from other hosts: the socket's own, as request and reply.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import type { WorkerClient } from "../client.ts";
import { isJsonObject } from "../frame.ts";
import { RpcError } from "../rpc.ts";
import type { Fleet } from "./connection.ts";
import { controlSubject, roleOf } from "./names.ts";

/** What answers the calls of a session. */
export interface CallTarget {
  /** The session in the fleet. */
  readonly id: string;
  /** Its worker. */
  readonly client: WorkerClient;
  /** Whether this host may still drive it. */
  valid(): boolean;
}

/**
 * Answers calls; the subject says which role the caller has.
 *
 * @param fleet The connection.
 * @param target What answers.
 * @returns A function that ends it.
 */
export function serveCalls(fleet: Fleet, target: CallTarget): () => void {
  const subject = controlSubject(fleet.names.prefix, target.id, "*");
  const subscription = fleet.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error !== null || message.reply === undefined) return;
      const role = message.subject.slice(message.subject.lastIndexOf(".") + 1);
      answer(target, role, message.data)
        .then((body) => void message.respond(body))
        // The link is gone: the caller hears so from its own side.
        .catch(() => {});
    },
  });
  return () => subscription.unsubscribe();
}

async function answer(
  { client, valid }: CallTarget,
  role: string,
  data: Uint8Array,
): Promise<string> {
  let id: unknown = null;
  const fail = (code: string, message: string) =>
    JSON.stringify({ id, error: { code, message } });
  try {
    const request: unknown = JSON.parse(new TextDecoder().decode(data));
    if (!isJsonObject(request)) return fail("malformed_frame", "no object");
    const { method, params } = request;
    id = request.id ?? null;
    if (typeof method !== "string" || roleOf(method) !== role) {
      return fail("unknown_method", `unknown stream method: ${method}`);
    }
    if (role === "drive" && !valid()) {
      return fail("shutting_down", "this host is losing the session");
    }
    const given = isJsonObject(params) ? params : {};
    return JSON.stringify({ id, result: await client.call(method, given) });
  } catch (error) {
    return fail(
      error instanceof RpcError ? error.code : "internal",
      reasonOf(error),
    );
  }
}
