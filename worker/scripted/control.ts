/**
 * The host's control requests: `initialize`, `interrupt`, and a few settings.
 *
 * @module
 */
import { isJson, type Json } from "./output.ts";
import type { HookGroup } from "./stage.ts";
import type { Session } from "./session.ts";

const HOOK_TIMEOUT_S = 60;

/** Answers one control request. */
export async function answerControl(
  session: Session,
  line: Json,
): Promise<void> {
  const id = line.request_id;
  const request = isJson(line.request) ? line.request : {};
  const ok = (response?: Json, extra: Json = {}) =>
    session.output.frame({
      type: "control_response",
      response: {
        subtype: "success",
        request_id: id,
        ...(response === undefined ? {} : { response }),
        ...extra,
      },
    });
  const fail = (error: string) =>
    session.output.frame({
      type: "control_response",
      response: { subtype: "error", request_id: id, error },
    });
  switch (request.subtype) {
    case "initialize":
      return initialize(session, request, ok);
    case "interrupt":
      session.turn?.cut(session.toolOpen ? "tools" : "streaming");
      return ok();
    case "set_model":
      session.output.frame({
        type: "user",
        message: {
          role: "user",
          content:
            `<local-command-stdout>Set model to ${request.model}</local-command-stdout>`,
        },
        session_id: session.frames.sessionId,
        parent_tool_use_id: null,
        uuid: crypto.randomUUID(),
        timestamp: new Date().toISOString(),
        isReplay: true,
      });
      return ok();
    case "set_permission_mode":
      if (
        request.mode === "bypassPermissions" &&
        session.args.permissionMode !== request.mode
      ) {
        return fail(
          "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions",
        );
      }
      session.mode = String(request.mode ?? "default");
      ok({ mode: session.mode });
      return session.frames.system("status", {
        status: null,
        permissionMode: session.mode,
      });
    case "mcp_status":
      await session.connectMcp();
      return ok({
        mcpServers: session.mcp.list.map(({ name, status }) => ({
          name,
          status,
        })),
      });
    default:
      return fail(`Unsupported control request subtype: ${request.subtype}`);
  }
}

function initialize(
  session: Session,
  request: Json,
  ok: (response?: Json, extra?: Json) => void,
): void {
  const again = session.initialized++ > 0;
  const hooks = isJson(request.hooks) ? request.hooks.PreToolUse : undefined;
  if (Array.isArray(hooks)) session.hooks = hooks.flatMap(hookGroup);
  if (Array.isArray(request.sdkMcpServers)) {
    session.sdkServers = request.sdkMcpServers.filter((name) =>
      typeof name === "string"
    );
  }
  ok(
    {
      commands: [],
      agents: [],
      output_style: "default",
      available_output_styles: ["default"],
      models: [],
      account: {},
      pid: Deno.pid,
    },
    again
      ? { pending_permission_requests: [], pending_user_dialog_requests: [] }
      : {},
  );
  session.connectMcp();
}

function hookGroup(value: unknown): HookGroup[] {
  if (!isJson(value)) return [];
  const { matcher, hookCallbackIds, timeout } = value;
  const ids = Array.isArray(hookCallbackIds) ? hookCallbackIds.map(String) : [];
  const names = typeof matcher === "string" && matcher !== "" && matcher !== "*"
    ? matcher.split("|").map((name) => name.trim())
    : undefined;
  return [{
    callbackIds: ids,
    timeoutMs: (typeof timeout === "number" ? timeout : HOOK_TIMEOUT_S) * 1000,
    matches: (tool) => names === undefined || names.includes(tool),
  }];
}
