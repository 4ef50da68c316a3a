/**
 * Plays the steps of one case through the public API of `@bulkhead/plugins`.
 *
 * @module
 */

import {
  ConfigError,
  fireHooks,
  type HookPayload,
  installPlugin,
  loadConfig,
  type LoadedOutcome,
  loadPlugins,
  parseTrustPin,
  questionText,
  removePlugin,
  resultText,
  type SandboxLevel,
  type Tool,
  type ToolResult,
  type TrustHandler,
  TrustStore,
  updatePlugin,
} from "@bulkhead/plugins";
import { probeIsolation } from "@bulkhead/sandbox";
import { stringify } from "@std/toml";
import {
  bash,
  closeStage,
  exists,
  fill,
  isObject,
  type Json,
  type JsonObject,
  onlyKeys,
  openStage,
  type Stage,
  string,
  strings,
} from "./_plugin_case.ts";
import { type Observation, unmet } from "./_plugin_expect.ts";

/** No case takes this long; one that hangs must not keep the others from being played. */
const CASE_DEADLINE_MS = 120_000;

async function withinDeadline(
  playing: Promise<string | undefined>,
): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(
      () => resolve(`did not end within ${CASE_DEADLINE_MS} ms`),
      CASE_DEADLINE_MS,
    );
  });
  const first = await Promise.race([playing, late]);
  clearTimeout(timer);
  return first;
}

/** The verdict about one case. */
export interface CaseVerdict {
  id: string;
  pass: boolean;
  detail: string;
}

const CASE_KEYS = [
  "id",
  "group",
  "policy",
  "config",
  "steps",
  "setup",
  "note",
  "source",
  "hostEnv",
  "requiresSandbox",
];

/** Plays one case. */
export async function playCase(
  raw: JsonObject,
  options: { root: string; isolation: SandboxLevel },
): Promise<CaseVerdict> {
  const id = typeof raw.id === "string" ? raw.id : "?";
  let stage: Stage | undefined;
  try {
    onlyKeys(raw, CASE_KEYS, "the case");
    const sandboxed = options.isolation !== "off" &&
      (await probeIsolation()).backend !== "none";
    if (raw.requiresSandbox === true && !sandboxed) {
      return { id, pass: true, detail: "skipped: needs an OS sandbox" };
    }
    stage = await openStage(`${options.root}/${id}`);
    const filled = fill(raw, stage);
    if (!isObject(filled)) throw new TypeError("the case must be an object");
    for (const line of strings(filled.setup, "setup")) {
      await bash(line, stage.temp);
    }
    const player = new Player(stage, filled, options.isolation, sandboxed);
    const detail = await withinDeadline(player.play());
    return { id, pass: detail === undefined, detail: detail ?? "ok" };
  } catch (error) {
    const reason = error instanceof Error
      ? `${error.name}: ${error.message}`
      : String(error);
    return { id, pass: false, detail: reason };
  } finally {
    if (stage !== undefined) await closeStage(stage);
  }
}

type Partial = Omit<
  Observation,
  | "elapsedMs"
  | "blockedMs"
  | "rssGrowthMB"
  | "sandboxed"
  | "workspace"
  | "startedAt"
>;

class Player {
  readonly #stage: Stage;
  readonly #case: JsonObject;
  readonly #isolation: SandboxLevel;
  readonly #sandboxed: boolean;
  readonly #startedAt = Date.now();
  #loaded: LoadedOutcome | undefined;

  constructor(
    stage: Stage,
    filled: JsonObject,
    isolation: SandboxLevel,
    sandboxed: boolean,
  ) {
    this.#stage = stage;
    this.#case = filled;
    this.#isolation = isolation;
    this.#sandboxed = sandboxed;
  }

  /** Plays all steps; what went wrong first, or undefined. */
  async play(): Promise<string | undefined> {
    const { steps, hostEnv } = this.#case;
    if (!Array.isArray(steps)) throw new TypeError("steps must be a list");
    const restore = setEnvironment(isObject(hostEnv) ? hostEnv : {});
    try {
      for (const [index, step] of steps.entries()) {
        if (!isObject(step)) throw new TypeError("a step must be an object");
        const problem = await this.#step(step);
        if (problem !== undefined) {
          return `step ${index + 1} (${step.op}): ${problem}`;
        }
      }
      return undefined;
    } finally {
      restore();
    }
  }

  async #step(raw: JsonObject): Promise<string | undefined> {
    const { note: _note, source: _source, requiresSandbox, ...step } = raw;
    if (requiresSandbox === true && !this.#sandboxed) return undefined;
    const expect = step.expect ?? {};
    if (!isObject(expect)) throw new TypeError("expect must be an object");
    switch (step.op) {
      case "load":
        return await this.#observe(expect, () => this.#load(step));
      case "call":
        return await this.#observe(expect, () => this.#call(step));
      case "parallel":
        return await this.#parallel(step, expect);
      case "fire":
        return await this.#observe(expect, () => this.#fire(step));
      case "install":
      case "update":
      case "uninstall":
      case "remove":
        return await this.#observe(expect, () => this.#install(step));
      case "edit":
        await this.#edit(step);
        return await this.#observe(expect, () => Promise.resolve({}));
      case "sh":
        onlyKeys(step, ["op", "cmd", "expect"], "the step");
        await bash(string(step.cmd, "cmd"), this.#stage.temp);
        return await this.#observe(expect, () => Promise.resolve({}));
      case "untrust":
        onlyKeys(step, ["op", "expect"], "the step");
        await new TrustStore(this.#stage.root).clear();
        return await this.#observe(expect, () => Promise.resolve({}));
      case "corruptTrustStore":
        onlyKeys(step, ["op", "content", "expect"], "the step");
        await Deno.writeTextFile(
          new TrustStore(this.#stage.root).path,
          typeof step.content === "string" ? step.content : "{ damaged",
        );
        return await this.#observe(expect, () => Promise.resolve({}));
      default:
        return `unknown op ${JSON.stringify(step.op)}`;
    }
  }

  /** Runs a step while time, the event loop and memory are watched. */
  async #observe(
    expect: JsonObject,
    act: () => Promise<Partial>,
  ): Promise<string | undefined> {
    const before = Deno.memoryUsage().rss;
    let peak = before;
    let blockedMs = 0;
    let last = performance.now();
    const watch = (): void => {
      const now = performance.now();
      blockedMs = Math.max(blockedMs, now - last - TICK_MS);
      last = now;
      peak = Math.max(peak, Deno.memoryUsage().rss);
    };
    const timer = setInterval(watch, TICK_MS);
    const started = performance.now();
    let partial: Partial;
    try {
      partial = await act();
    } finally {
      clearInterval(timer);
    }
    const elapsedMs = performance.now() - started;
    watch();
    return await unmet(expect, {
      ...partial,
      elapsedMs,
      blockedMs,
      rssGrowthMB: (peak - before) / 1e6,
      sandboxed: this.#sandboxed,
      workspace: this.#stage.workspace,
      startedAt: this.#startedAt,
    });
  }

  async #load(step: JsonObject): Promise<Partial> {
    onlyKeys(
      step,
      ["op", "answers", "dirs", "config", "trustPlugins", "expect"],
      "the step",
    );
    this.#loaded = undefined;
    const prompts: string[] = [];
    const trust = handlerOf(step.answers, prompts);
    const none = { tools: [], plugins: [], hooks: [], prompts };
    await this.#writeConfig(isObject(step.config) ? step.config : undefined);
    let resolved;
    try {
      resolved = await loadConfig({
        home: this.#stage.root,
        workspace: this.#stage.workspace,
      });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const lines = [error.message];
      return {
        ...none,
        // Loading with what could not be resolved is refused, too; a case may mean either door.
        outcome: isObject(step.expect) && step.expect.outcome === "blocked"
          ? "blocked"
          : "error",
        error: error.message,
        warnings: lines,
        lines,
      };
    }
    const outcome = await loadPlugins({
      config: resolved.config,
      home: this.#stage.root,
      workspace: this.#stage.workspace,
      workspaceAccess: "write",
      pins: strings(step.trustPlugins, "trustPlugins").map(parseTrustPin),
      ...(step.dirs === undefined
        ? {}
        : { scanDirs: strings(step.dirs, "dirs") }),
      ...(trust === undefined ? {} : { trust }),
    });
    const { notices } = resolved;
    if (outcome.status === "disabled") {
      return { ...none, outcome: "disabled", warnings: [], lines: notices };
    }
    const refused = outcome.refused.map((plugin) => plugin.reason);
    if (outcome.status === "blocked_pending_trust") {
      return {
        ...none,
        outcome: "blocked",
        warnings: [outcome.notice, ...outcome.warnings],
        lines: [...notices, outcome.notice, ...refused, ...outcome.warnings],
      };
    }
    this.#loaded = outcome;
    return {
      outcome: "loaded",
      prompts,
      tools: outcome.tools.map((tool) => ({
        name: tool.name,
        plugin: tool.source.plugin,
        tool: tool.source.tool,
        description: tool.description,
        inputSchema: tool.inputSchema,
      })),
      plugins: outcome.plugins.map((plugin) => plugin.name),
      hooks: outcome.hooks.map((hook) => [hook.plugin, hook.event]),
      versions: Object.fromEntries(
        outcome.plugins.map((plugin) => [plugin.name, plugin.version]),
      ),
      warnings: outcome.warnings,
      lines: [...notices, ...refused, ...outcome.warnings],
    };
  }

  async #writeConfig(override: JsonObject | undefined): Promise<void> {
    const { root, workspace } = this.#stage;
    const config = override ?? this.#case.config ?? {};
    if (!isObject(config)) throw new TypeError("config must be an object");
    const { trust, ...plugins } = config;
    await Deno.writeTextFile(
      `${root}/config.toml`,
      stringify({
        capabilities: {
          plugins: { sandbox: this.#isolation, ...plugins },
          ...(isObject(trust) ? { trust } : {}),
        },
      }),
    );
    // The seed's name of the project file; cases leave the name to us.
    const foreign = `${workspace}/.supercode.toml`;
    if (await exists(foreign)) {
      await Deno.rename(foreign, `${workspace}/.bulkhead.toml`);
    }
  }

  /** By its name on the wire, or by the name it would have if that were plain and nobody else's. */
  #tool(name: string): Tool | undefined {
    const tools = this.#loaded?.tools ?? [];
    const exact = tools.find((tool) => tool.name === name);
    if (exact !== undefined) return exact;
    const [plain, other] = tools.filter(({ source }) =>
      `plugin__${source.plugin}__${source.tool}` === name
    );
    return other === undefined ? plain : undefined;
  }

  async #call(step: JsonObject): Promise<Partial> {
    onlyKeys(step, [
      "op",
      "tool",
      "input",
      "args",
      "timeoutMs",
      "abortAfterMs",
      "abortMs",
      "cancelAfterMs",
      "cwd",
      "expect",
    ], "the step");
    const name = string(step.tool, "tool");
    const input = step.input ?? step.args ?? {};
    const abortAfterMs = step.abortAfterMs ?? step.abortMs ??
      step.cancelAfterMs;
    const tool = this.#tool(name);
    if (tool === undefined) {
      const text = `there is no tool "${name}"`;
      return { isError: true, text, input, result: { text } };
    }
    const controller = new AbortController();
    const timer = typeof abortAfterMs === "number"
      ? setTimeout(() => controller.abort(), abortAfterMs)
      : undefined;
    let result: ToolResult;
    try {
      result = await tool.execute(input, {
        signal: controller.signal,
        ...(typeof step.timeoutMs === "number"
          ? { timeoutMs: step.timeoutMs }
          : {}),
        ...(typeof step.cwd === "string" ? { cwd: step.cwd } : {}),
      });
    } finally {
      clearTimeout(timer);
    }
    return {
      isError: result.isError ?? false,
      text: resultText(result),
      result,
      input,
      ...(result.details === undefined ? {} : { details: result.details }),
    };
  }

  /** Calls at the same time: a list of them, or one of them several times. */
  async #parallel(
    step: JsonObject,
    expect: JsonObject,
  ): Promise<string | undefined> {
    onlyKeys(step, [
      "op",
      "calls",
      "steps",
      "tool",
      "input",
      "count",
      "n",
      "times",
      "timeoutMs",
      "expect",
    ], "the step");
    const listed = step.calls ?? step.steps;
    const count = step.count ?? step.n ?? step.times ?? 1;
    if (typeof count !== "number") {
      throw new TypeError("count must be a number");
    }
    const { tool, input, timeoutMs } = step;
    const calls = Array.isArray(listed) ? listed : Array.from(
      { length: count },
      (): Json => ({
        tool: tool ?? null,
        ...(input === undefined ? {} : { input }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      }),
    );
    const whole: JsonObject = {};
    const each: JsonObject = {};
    for (const [key, value] of Object.entries(expect)) {
      const ofAll =
        /^(?:maxMs|minMs|absent|present|pidFileDead|noProcessLeft|eventLoop|hostRss)/
          .test(key);
      (ofAll ? whole : each)[key] = value;
    }
    let problem: string | undefined;
    const all = async (): Promise<Partial> => {
      const problems = await Promise.all(calls.map(async (call) => {
        if (!isObject(call)) throw new TypeError("a call must be an object");
        const own = isObject(call.expect) ? call.expect : {};
        return await this.#observe(
          { ...each, ...own },
          () => this.#call(call),
        );
      }));
      problem = problems.find((found) => found !== undefined);
      return {};
    };
    return await this.#observe(whole, all) ?? problem;
  }

  async #fire(step: JsonObject): Promise<Partial> {
    onlyKeys(
      step,
      ["op", "event", "payload", "tool", "abortAfterMs", "expect"],
      "the step",
    );
    const payload = step.payload ?? {};
    if (!isObject(payload)) throw new TypeError("payload must be an object");
    const outcome = await fireHooks(
      this.#loaded?.hooks ?? [],
      string(step.event, "event"),
      { payload: hookPayload({ ...payload }, step.tool, this.#stage) },
    );
    return {
      blocked: outcome.decision === "deny",
      decision: outcome.decision,
      ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
      text: JSON.stringify(outcome),
      updatedInput: outcome.updatedInput,
      additionalContext: outcome.additionalContext,
      fired: outcome.reports.length,
      failures: outcome.reports.flatMap((report) => report.failure ?? []),
      lines: outcome.reports.flatMap((report) => report.failure ?? []),
      warnings: outcome.reports.flatMap((report) => report.failure ?? []),
    };
  }

  async #install(step: JsonObject): Promise<Partial> {
    onlyKeys(
      step,
      ["op", "from", "name", "answers", "sha256", "data", "expect"],
      "the step",
    );
    const prompts: string[] = [];
    const ask = handlerOf(step.answers, prompts);
    const places = { home: this.#stage.root, pluginsDir: this.#stage.plugins };
    const options = {
      ...places,
      sandbox: this.#isolation,
      ...(trustsAll(this.#case.config)
        ? { trust: { enabled: true, default: "always" as const } }
        : {}),
      ...(ask === undefined ? {} : { ask }),
      ...(typeof step.sha256 === "string" ? { sha256: step.sha256 } : {}),
    };
    try {
      let lines: string[];
      if (step.op === "install") {
        ({ notices: lines } = await installPlugin(
          string(step.from, "from"),
          options,
        ));
      } else if (step.op === "update") {
        ({ notices: lines } = await updatePlugin(string(step.name, "name"), {
          ...options,
          ...(typeof step.from === "string" ? { source: step.from } : {}),
        }));
      } else {
        ({ notices: lines } = await removePlugin(string(step.name, "name"), {
          ...places,
          data: step.data !== false,
          force: true,
        }));
      }
      return { ok: true, prompts, lines, warnings: lines };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { ok: false, error: reason, prompts, lines: [], warnings: [] };
    }
  }

  async #edit(step: JsonObject): Promise<void> {
    onlyKeys(step, [
      "op",
      "file",
      "path",
      "content",
      "text",
      "append",
      "replace",
      "from",
      "to",
      "with",
      "mode",
      "remove",
      "rename",
      "link",
      "expect",
    ], "the step");
    const path = string(step.file ?? step.path, "file");
    const content = step.content ?? step.text;
    if (step.remove === true) await Deno.remove(path, { recursive: true });
    if (typeof step.rename === "string") await Deno.rename(path, step.rename);
    if (typeof step.link === "string") await Deno.symlink(step.link, path);
    if (typeof content === "string") await Deno.writeTextFile(path, content);
    if (typeof step.append === "string") {
      await Deno.writeTextFile(path, step.append, { append: true });
    }
    const pair = Array.isArray(step.replace)
      ? step.replace
      : [step.replace ?? step.from ?? null, step.with ?? step.to ?? null];
    const [from, to] = pair;
    if (typeof from === "string" && typeof to === "string") {
      const text = await Deno.readTextFile(path);
      if (!text.includes(from)) throw new Error(`"${path}" lacks "${from}"`);
      await Deno.writeTextFile(path, text.replaceAll(from, to));
    }
    if (typeof step.mode === "string") {
      await Deno.chmod(path, Number.parseInt(step.mode, 8));
    } else if (typeof step.mode === "number") await Deno.chmod(path, step.mode);
  }
}

const TICK_MS = 10;

/** Cases speak of hooks as `{tool: "read", …}`; ours get the tool as an object. */
function hookPayload(
  payload: JsonObject,
  named: Json | undefined,
  stage: Stage,
): HookPayload {
  const { tool, ...rest } = payload;
  const given = tool ?? named;
  const full: HookPayload = {
    ...rest,
    "session_id": typeof rest.session_id === "string"
      ? rest.session_id
      : "case",
    cwd: typeof rest.cwd === "string" ? rest.cwd : stage.workspace,
    workspace: stage.workspace,
  };
  const name = typeof given === "string"
    ? given
    : isObject(given) && typeof given.name === "string"
    ? given.name
    : typeof rest.tool_name === "string"
    ? rest.tool_name
    : undefined;
  if (name !== undefined) {
    full.tool = {
      ...(isObject(given) ? given : {}),
      name,
      input: (isObject(given) ? given.input : undefined) ?? rest.input ??
        rest.tool_input ?? {},
    };
  }
  return full;
}

/** Answers in the order given, then no; without answers there is nobody to ask. */
/** Whether a case's configuration lets everything in without a question. */
function trustsAll(config: Json | undefined): boolean {
  return isObject(config) && isObject(config.trust) &&
    config.trust.enabled === true && config.trust.default === "always";
}

function handlerOf(
  answers: Json | undefined,
  prompts: string[],
): TrustHandler | undefined {
  if (answers === undefined) return undefined;
  const list: Json[] = Array.isArray(answers) ? [...answers] : [answers];
  return (question) => {
    prompts.push(questionText(question));
    const answer = list.shift();
    if (answer === "throw") throw new Error("the handler failed");
    // Whatever else a case answers goes in as it is: only the exact words may count.
    const word: unknown = answer === "deny" || answer === undefined
      ? "no"
      : answer;
    return word as "no";
  };
}

function setEnvironment(values: JsonObject): () => void {
  const old = new Map<string, string | undefined>();
  for (const [name, value] of Object.entries(values)) {
    old.set(name, Deno.env.get(name));
    Deno.env.set(name, string(value, name));
  }
  return () => {
    for (const [name, value] of old) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  };
}
