/**
 * One tool call: the hook is asked, then the rules, then the host; then the
 * tool runs.
 *
 * @module
 */
import { isJson, type Json } from "./output.ts";
import { describeAsk, judge } from "./permissions.ts";
import type { Reply } from "./channel.ts";
import type { Stage, Turn } from "./stage.ts";
import { absoluteInput, failed, type ToolAnswer } from "./tools.ts";

/** Who makes the call, when it is not the main thread. */
export interface Subagent {
  /** Id in hooks and asks. */
  agentId: string;
  /** Type in hooks. */
  agentType: string;
  /** Fields of every frame of it. */
  parent: Json;
}

/** A call that the model has made and that is not settled yet. */
export interface PendingCall {
  tool: string;
  input: Json;
  toolUseId: string;
  agent?: Subagent;
  /** The hook's answer, when it was asked while the message was still streaming. */
  hook?: Promise<HookVerdict>;
}

/** What the PreToolUse callbacks said, strictest first. */
export type HookVerdict =
  | { kind: "deny"; reason: string }
  | { kind: "ask" }
  | { kind: "allow" }
  | { kind: "none" };

/** How a call stands before the tool runs. */
export type Clearance =
  | { kind: "run"; input: Json }
  | { kind: "refused"; answer: ToolAnswer; aborts?: "tools" };

const REJECTED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected " +
  "(eg. if it was a file edit, the new_string was NOT written to the file). " +
  "STOP what you are doing and wait for the user to tell you how to proceed.";

/** Whether the hook is asked while the message is still streaming. */
export function asksEarly(tool: string): boolean {
  return tool === "Bash" || tool === "Task" || tool === "Agent";
}

/** Asks every PreToolUse callback that matches. */
export async function askHooks(
  stage: Stage,
  turn: Turn,
  call: PendingCall,
): Promise<HookVerdict> {
  const name = call.tool === "Task" ? "Agent" : call.tool;
  let verdict: HookVerdict = { kind: "none" };
  for (const group of stage.hooks) {
    if (!group.matches(name)) continue;
    for (const callbackId of group.callbackIds) {
      const reply = await stage.channel.ask({
        subtype: "hook_callback",
        callback_id: callbackId,
        input: {
          session_id: stage.frames.sessionId,
          transcript_path: stage.transcriptPath,
          cwd: stage.cwd,
          prompt_id: turn.promptId,
          permission_mode: stage.mode,
          effort: { level: "high" },
          hook_event_name: "PreToolUse",
          tool_name: name,
          tool_input: absoluteInput(call.input, stage.cwd),
          tool_use_id: call.toolUseId,
          ...(call.agent === undefined ? {} : {
            agent_id: call.agent.agentId,
            agent_type: call.agent.agentType,
          }),
        },
        tool_use_id: call.toolUseId,
      }, { timeoutMs: group.timeoutMs, signal: turn.abort.signal });
      const one = await readHookReply(stage, callbackId, reply, call);
      if (rank(one) > rank(verdict)) verdict = one;
    }
  }
  return verdict;
}

async function readHookReply(
  stage: Stage,
  callbackId: string,
  reply: Reply,
  call: PendingCall,
): Promise<HookVerdict> {
  switch (reply.kind) {
    case "closed":
      return { kind: "none" };
    case "cancelled":
      return {
        kind: "deny",
        reason: `PreToolUse:${call.tool} hook did not answer in time`,
      };
    case "error":
      await stage.complain(
        `Error in hook callback ${callbackId}: ${reply.error}\n`,
      );
      return { kind: "none" };
    case "success": {
      reply.echo();
      const output = reply.response.hookSpecificOutput;
      if (!isJson(output)) {
        const block = reply.response.decision === "block";
        return block
          ? {
            kind: "deny",
            reason: String(reply.response.reason ?? "Blocked by hook"),
          }
          : { kind: "none" };
      }
      const { updatedInput } = output;
      if (isJson(updatedInput)) call.input = updatedInput;
      if (output.permissionDecision === "deny") {
        return {
          kind: "deny",
          reason: String(output.permissionDecisionReason ?? "Denied by hook"),
        };
      }
      if (output.permissionDecision === "ask") return { kind: "ask" };
      if (output.permissionDecision === "allow") return { kind: "allow" };
      return { kind: "none" };
    }
  }
}

function rank(verdict: HookVerdict): number {
  return ["none", "allow", "ask", "deny"].indexOf(verdict.kind);
}

/** Whether the call may run, and with which input. */
export async function clear(
  stage: Stage,
  turn: Turn,
  call: PendingCall,
): Promise<Clearance> {
  const hook = await (call.hook ?? askHooks(stage, turn, call));
  if (turn.aborted) return { kind: "refused", answer: rejected() };
  const input = absoluteInput(call.input, stage.cwd);
  if (hook.kind === "deny") return refuse(turn, call, input, hook.reason);
  const rule = judge(stage.rules, stage.mode, stage.cwd, call.tool, input);
  if (rule.kind === "deny") return refuse(turn, call, input, rule.message);
  const asks = hook.kind === "ask" ||
    (rule.kind === "ask" &&
      (hook.kind !== "allow" || rule.reasonType === "rule"));
  if (!asks) return { kind: "run", input };
  if (!stage.args.promptTool) {
    return refuse(
      turn,
      call,
      input,
      `Claude requested permissions to use ${call.tool}, but you haven't granted it yet.`,
    );
  }
  const reason = hook.kind === "ask"
    ? { decision_reason_type: "hook" }
    : rule.kind === "ask" && rule.reasonType !== undefined
    ? {
      ...(rule.reason === undefined ? {} : { decision_reason: rule.reason }),
      decision_reason_type: rule.reasonType,
    }
    : {};
  return await askHost(stage, turn, call, input, reason);
}

async function askHost(
  stage: Stage,
  turn: Turn,
  call: PendingCall,
  input: Json,
  reason: Json,
): Promise<Clearance> {
  if (stage.channel.closed) {
    return refuse(
      turn,
      call,
      input,
      "Tool permission request failed: Error: Stream closed",
    );
  }
  const { description, suggestions } = describeAsk(call.tool, input, stage.cwd);
  stage.openAsks++;
  stage.frames.state("requires_action", true);
  const reply = await stage.channel.ask({
    subtype: "can_use_tool",
    tool_name: call.tool,
    display_name: call.tool,
    input,
    description,
    ...(suggestions === undefined
      ? {}
      : { permission_suggestions: suggestions }),
    ...reason,
    tool_use_id: call.toolUseId,
    ...(call.agent === undefined ? {} : { agent_id: call.agent.agentId }),
  }, { signal: turn.abort.signal });
  stage.openAsks--;
  const cancelled = reply.kind === "cancelled";
  if (cancelled || stage.openAsks === 0) {
    stage.frames.state("running", cancelled);
  }
  switch (reply.kind) {
    case "closed":
      return refuse(
        turn,
        call,
        input,
        "Tool permission stream closed before response received",
      );
    case "cancelled":
      turn.denied(call, input);
      return { kind: "refused", answer: rejected() };
    case "error":
      return refuse(
        turn,
        call,
        input,
        `Tool permission request failed: Error: ${reply.error}`,
      );
    case "success":
      return readAnswer(turn, call, input, reply);
  }
}

function readAnswer(
  turn: Turn,
  call: PendingCall,
  input: Json,
  reply: Reply & { kind: "success" },
): Clearance {
  const { behavior, updatedInput, message, interrupt } = reply.response;
  if (behavior === "allow") {
    if (!isJson(updatedInput)) {
      return refuse(
        turn,
        call,
        input,
        'Tool permission request failed: ZodError: [{"code":"invalid_union","path":["updatedInput"]}]',
      );
    }
    reply.echo();
    return { kind: "run", input: updatedInput };
  }
  if (behavior !== "deny") {
    return refuse(
      turn,
      call,
      input,
      'Tool permission request failed: ZodError: [{"code":"invalid_union","path":["behavior"]}]',
    );
  }
  reply.echo();
  const refused = refuse(turn, call, input, String(message ?? ""));
  return interrupt === true ? { ...refused, aborts: "tools" } : refused;
}

function refuse(
  turn: Turn,
  call: PendingCall,
  input: Json,
  message: string,
): Clearance & { kind: "refused" } {
  turn.denied(call, input);
  return { kind: "refused", answer: failed(message) };
}

function rejected(): ToolAnswer {
  return { content: REJECTED, isError: true, detail: "User rejected tool use" };
}
