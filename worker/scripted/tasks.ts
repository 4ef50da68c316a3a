// deno-lint-ignore-file camelcase -- field names are the wire's own
/**
 * What runs when a call is cleared: own tools, MCP tools, questions,
 * subagents, and background tasks that end later.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import type { PendingCall, Subagent } from "./call.ts";
import { isJson, type Json } from "./output.ts";
import type { ScriptStep, ToolStep } from "./script.ts";
import type { Stage, Turn } from "./stage.ts";
import { failed, OWN_TOOLS, runTool, type ToolAnswer } from "./tools.ts";

/** How a subagent is played, passed in by the player. */
export interface SubagentRun {
  /** The subagent, when it was announced early. */
  subagent?: Subagent;
  /** Plays its steps. */
  play(
    agent: Subagent,
    steps: readonly ScriptStep[],
  ): Promise<{ text: string; toolUses: number }>;
}

/** Runs a cleared call. */
export async function execute(
  stage: Stage,
  turn: Turn,
  call: PendingCall,
  step: ToolStep,
  input: Json,
  agents: SubagentRun,
): Promise<ToolAnswer> {
  if (step.result !== undefined) {
    return step.result.isError ? failed(step.result.content) : {
      content: step.result.content,
      isError: false,
      detail: step.result.content,
    };
  }
  if (call.tool === "AskUserQuestion") return answered(input);
  if (call.tool === "Task" || call.tool === "Agent") {
    return await runSubagent(stage, call, step, input, agents);
  }
  if (call.tool === "Bash" && input.run_in_background === true) {
    return startBackground(stage, call, step, input);
  }
  if (OWN_TOOLS.includes(call.tool)) {
    return await runTool(call.tool, input, {
      cwd: stage.cwd,
      signal: turn.abort.signal,
    });
  }
  return await callMcp(stage, call, input);
}

async function callMcp(
  stage: Stage,
  call: PendingCall,
  input: Json,
): Promise<ToolAnswer> {
  const answer = stage.mcp.call(call.tool, input, call.toolUseId);
  if (answer === undefined) {
    return failed(
      `<tool_use_error>Error: No such tool available: ${call.tool}</tool_use_error>`,
    );
  }
  try {
    const result = await answer;
    const content = Array.isArray(result.content)
      ? result.content.filter(isJson)
      : [];
    if (result.isError === true) {
      return failed(content.map((part) => String(part.text ?? "")).join("\n"));
    }
    return { content, isError: false, detail: content };
  } catch (error) {
    return failed(reasonOf(error));
  }
}

function answered(input: Json): ToolAnswer {
  const answers = isJson(input.answers) ? input.answers : {};
  const list = Object.entries(answers).map(([q, a]) => `"${q}"="${String(a)}"`)
    .join(", ");
  return {
    content: list === ""
      ? "User did not answer the questions."
      : `User has answered your questions: ${list}. You can now continue with the user's answers in mind.`,
    isError: false,
    detail: { questions: input.questions ?? [], answers },
  };
}

/** A subagent with ids of its own. */
export function newSubagent(input: Json, toolUseId: string): Subagent {
  const agentType = String(input.subagent_type ?? "general-purpose");
  return {
    agentId: "a" + crypto.randomUUID().replaceAll("-", "").slice(0, 16),
    agentType,
    parent: {
      parent_tool_use_id: toolUseId,
      subagent_type: agentType,
      task_description: String(input.description ?? ""),
    },
  };
}

/** `system/task_started` of a subagent. */
export function emitStarted(
  stage: Stage,
  agent: Subagent,
  input: Json,
  toolUseId: string,
): void {
  stage.frames.system("task_started", {
    task_id: agent.agentId,
    tool_use_id: toolUseId,
    description: String(input.description ?? ""),
    subagent_type: agent.agentType,
    task_type: "local_agent",
    prompt: String(input.prompt ?? ""),
  });
}

/** The prompt as the subagent's first `user` frame. */
export function emitPrompt(stage: Stage, agent: Subagent, input: Json): void {
  stage.frames.user(
    [{ type: "text", text: String(input.prompt ?? "") }],
    agent.parent,
  );
}

async function runSubagent(
  stage: Stage,
  call: PendingCall,
  step: ToolStep,
  input: Json,
  agents: SubagentRun,
): Promise<ToolAnswer> {
  const started = performance.now();
  let agent = agents.subagent;
  if (agent === undefined) {
    agent = newSubagent(input, call.toolUseId);
    emitStarted(stage, agent, input, call.toolUseId);
    emitPrompt(stage, agent, input);
  }
  const finish = async (
    subagent: Subagent,
  ): Promise<{ text: string; usage: Json; ms: number }> => {
    const { text, toolUses } = await agents.play(subagent, step.steps ?? []);
    const ms = Math.round(performance.now() - started);
    const usage = { total_tokens: 12, tool_uses: toolUses, duration_ms: ms };
    stage.frames.system("task_updated", {
      task_id: subagent.agentId,
      patch: { status: "completed", end_time: Date.now() },
    });
    return { text, usage, ms };
  };
  if (input.run_in_background === true) {
    const subagent = agent;
    track(
      stage,
      call,
      subagent.agentId,
      step,
      "",
      () => finish(subagent).then((r) => r.usage),
    );
    return launched(agent);
  }
  const { text, usage, ms } = await finish(agent);
  const description = String(input.description ?? "");
  notify(stage, agent.agentId, call.toolUseId, description, "", usage);
  const { agentId, agentType } = agent;
  const told =
    `agentId: ${agentId} (use SendMessage with to: '${agentId}', summary: '<5-10 word recap>' to continue this agent)\n` +
    `<usage>subagent_tokens: 15\ntool_uses: ${usage.tool_uses}\nduration_ms: ${ms}</usage>`;
  return {
    content: [{ type: "text", text }, { type: "text", text: told }],
    isError: false,
    detail: {
      status: "completed",
      prompt: String(input.prompt ?? ""),
      agentId,
      agentType,
      content: [{ type: "text", text }],
      totalDurationMs: ms,
      totalTokens: 15,
      totalToolUseCount: usage.tool_uses,
      usage: stage.frames.usage(1),
    },
  };
}

/** The answer to a call whose subagent works in the background. */
function launched({ agentId }: Subagent): ToolAnswer {
  return {
    content: [{
      type: "text",
      text: `Async agent launched successfully.\nagentId: ${agentId}`,
    }],
    isError: false,
    detail: { isAsync: true, status: "async_launched", agentId },
  };
}

function notify(
  stage: Stage,
  taskId: string,
  toolUseId: string,
  summary: string,
  outputFile: string,
  usage?: Json,
  status = "completed",
): void {
  stage.frames.system("task_notification", {
    task_id: taskId,
    tool_use_id: toolUseId,
    status,
    output_file: outputFile,
    summary,
    ...(usage === undefined ? {} : { usage }),
  });
}

function startBackground(
  stage: Stage,
  call: PendingCall,
  step: ToolStep,
  input: Json,
): ToolAnswer {
  const taskId = "b" + crypto.randomUUID().replaceAll("-", "").slice(0, 8);
  const file =
    `${stage.args.sessions}/tasks/${stage.frames.sessionId}/${taskId}.output`;
  const name = String(input.description ?? input.command ?? "");
  stage.frames.system("task_started", {
    task_id: taskId,
    tool_use_id: call.toolUseId,
    description: name,
    task_type: "local_bash",
  });
  track(stage, call, taskId, step, file, async (signal) => {
    const answer = await runTool("Bash", input, { cwd: stage.cwd, signal });
    if (signal.aborted) return undefined;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, String(answer.content));
    stage.frames.system("task_updated", {
      task_id: taskId,
      patch: {
        status: answer.isError ? "failed" : "completed",
        end_time: Date.now(),
      },
    });
    return undefined;
  }, `Background command "${name}" completed (exit code 0)`);
  return {
    content:
      `Command running in background with ID: ${taskId}. Output is being written to: ${file}. ` +
      `You will be notified when it completes. To check interim output, use Read on that file path.`,
    isError: false,
    saysFalse: true,
    detail: {
      stdout: "",
      stderr: "",
      interrupted: false,
      isImage: false,
      noOutputExpected: false,
      backgroundTaskId: taskId,
    },
  };
}

/** Runs a background task; when it is done a turn starts by itself. */
function track(
  stage: Stage,
  call: PendingCall,
  taskId: string,
  step: ToolStep,
  file: string,
  work: (signal: AbortSignal) => Promise<Json | undefined>,
  summary: string = String(call.input.description ?? ""),
): void {
  const abort = new AbortController();
  const done = work(abort.signal).catch(() => undefined).then((usage) => {
    stage.tasks.delete(taskId);
    if (abort.signal.aborted) {
      stage.frames.system("task_updated", {
        task_id: taskId,
        patch: { status: "killed", end_time: Date.now() },
      });
      notify(
        stage,
        taskId,
        call.toolUseId,
        `${summary} was stopped`,
        file,
        usage,
        "stopped",
      );
      return;
    }
    stage.enqueue({
      steps: step.then ?? [{ say: "The background task is done." }],
      before: () => notify(stage, taskId, call.toolUseId, summary, file, usage),
      origin: { kind: "task-notification" },
      merges: false,
    });
  });
  stage.tasks.set(taskId, { taskId, toolUseId: call.toolUseId, abort, done });
}
