/**
 * Plays the steps of one case through the public API of `@bulkhead/plugins`.
 *
 * @module
 */

import { type SandboxLevel, TrustStore } from "@bulkhead/plugins";
import { probeIsolation } from "@bulkhead/sandbox";
import { CALL_KEYS, callStep } from "./_plugin_call.ts";
import {
  bash,
  closeStage,
  fill,
  isObject,
  type Json,
  type JsonObject,
  onlyKeys,
  openStage,
  string,
  strings,
} from "./_plugin_case.ts";
import { editStep } from "./_plugin_edit.ts";
import { unmet } from "./_plugin_expect.ts";
import { fireStep } from "./_plugin_fire.ts";
import { installStep } from "./_plugin_installs.ts";
import { loadStep } from "./_plugin_load.ts";
import { type Finding, type Play, stepKeys } from "./_plugin_step.ts";

/** No case takes this long; one that hangs must not keep the others from being played. */
const CASE_DEADLINE_MS = 120_000;

/** How often the event loop and the memory are looked at. */
const TICK_MS = 10;

/** Keys that say something to readers only. */
const REMARKS = [
  "title",
  "name",
  "description",
  "comment",
  "why",
  "tags",
  "defect",
  "ref",
  "refs",
];

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
  "requires",
  ...REMARKS,
];

/** The verdict about one case. */
export interface CaseVerdict {
  id: string;
  pass: boolean;
  detail: string;
}

/** Plays one case. */
export async function playCase(
  raw: JsonObject,
  options: { root: string; isolation: SandboxLevel },
): Promise<CaseVerdict> {
  const id = typeof raw.id === "string" ? raw.id : "?";
  const opened: AsyncDisposableStack = new AsyncDisposableStack();
  try {
    onlyKeys(raw, CASE_KEYS, "the case");
    const { isolation } = options;
    const sandboxed = isolation !== "off" &&
      (await probeIsolation()).backend !== "none";
    if (needsSandbox(raw) && !sandboxed) {
      return { id, pass: true, detail: "skipped: needs an OS sandbox" };
    }
    const stage = await openStage(`${options.root}/${id}`);
    opened.defer(() => closeStage(stage));
    const filled = fill(raw, stage);
    if (!isObject(filled)) throw new TypeError("the case must be an object");
    for (const line of strings(filled.setup, "setup")) {
      await bash(line, stage.temp, stage);
    }
    const config = filled.config ?? {};
    if (!isObject(config)) throw new TypeError("config must be an object");
    const play: Play = { stage, config, isolation, loaded: undefined };
    const player = new Player(play, sandboxed);
    const detail = await withinDeadline(player.play(filled));
    return { id, pass: detail === undefined, detail: detail ?? "ok" };
  } catch (error) {
    const reason = error instanceof Error
      ? `${error.name}: ${error.message}`
      : String(error);
    return { id, pass: false, detail: reason };
  } finally {
    await opened.disposeAsync();
  }
}

function needsSandbox({ requiresSandbox, requires }: JsonObject): boolean {
  return requiresSandbox === true ||
    strings(requires, "requires").some((what) =>
      /sandbox|isolation/i.test(what)
    );
}

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

class Player {
  readonly #play: Play;
  readonly #sandboxed: boolean;
  readonly #startedAt = Date.now();

  constructor(play: Play, sandboxed: boolean) {
    this.#play = play;
    this.#sandboxed = sandboxed;
  }

  /** Plays all steps; what went wrong first, or undefined. */
  async play({ steps, hostEnv }: JsonObject): Promise<string | undefined> {
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
    const {
      note: _note,
      comment: _comment,
      why: _why,
      source,
      requiresSandbox,
      hostEnv,
      ...step
    } = raw;
    if (source !== undefined && step.op === "install") step.source = source;
    if (requiresSandbox === true && !this.#sandboxed) return undefined;
    const expect = step.expect ?? {};
    if (!isObject(expect)) throw new TypeError("expect must be an object");
    const restore = setEnvironment(isObject(hostEnv) ? hostEnv : {});
    try {
      return step.op === "parallel"
        ? await this.#parallel(step, expect)
        : await this.#observe(expect, () => this.#act(step));
    } finally {
      restore();
    }
  }

  async #act(step: JsonObject): Promise<Finding> {
    const { stage } = this.#play;
    switch (step.op) {
      case "load":
        return await loadStep(this.#play, step);
      case "call":
        return await callStep(this.#play, step);
      case "fire":
        return await fireStep(this.#play, step);
      case "install":
      case "update":
      case "uninstall":
      case "remove":
        return await installStep(this.#play, step);
      case "edit":
        await editStep(step, stage.root);
        return {};
      case "sh": {
        const { cmd, cwd } = stepKeys(step, {
          cmd: ["command", "run", "line", "script"],
          cwd: [],
        });
        for (const line of strings(cmd, "cmd")) {
          await bash(line, typeof cwd === "string" ? cwd : stage.temp, stage);
        }
        return {};
      }
      case "untrust":
        await untrustStep(new TrustStore(stage.root), step);
        return {};
      case "corruptTrustStore": {
        const { content } = stepKeys(step, { content: ["text", "with"] });
        await Deno.writeTextFile(
          new TrustStore(stage.root).path,
          content === undefined ? "{ damaged" : string(content, "content"),
        );
        return {};
      }
      default:
        throw new TypeError(`unknown op ${JSON.stringify(step.op)}`);
    }
  }

  /** Runs a step while time, the event loop and memory are watched. */
  async #observe(
    expect: JsonObject,
    act: () => Promise<Finding>,
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
    let finding: Finding;
    try {
      finding = await act();
    } finally {
      clearInterval(timer);
    }
    const elapsedMs = performance.now() - started;
    watch();
    return await unmet(expect, {
      ...finding,
      elapsedMs,
      blockedMs,
      rssGrowthMB: (peak - before) / 1e6,
      sandboxed: this.#sandboxed,
      workspace: this.#play.stage.workspace,
      startedAt: this.#startedAt,
    });
  }

  /** Calls at the same time: a list of them, or one of them several times. */
  async #parallel(
    step: JsonObject,
    expect: JsonObject,
  ): Promise<string | undefined> {
    const {
      calls: listed,
      call: given,
      inputs,
      count = 1,
      expectEach,
      ...one
    } = stepKeys(step, {
      calls: ["steps", "of"],
      call: [],
      inputs: [],
      count: ["n", "times", "repeat"],
      expectEach: ["each"],
      ...CALL_KEYS,
    });
    if (typeof count !== "number") {
      throw new TypeError("count must be a number");
    }
    const call = isObject(given) ? given : Object.fromEntries(
      Object.entries(one).flatMap(([key, value]): [string, Json][] =>
        value === undefined ? [] : [[key, value]]
      ),
    );
    const calls = Array.isArray(listed)
      ? listed
      : Array.isArray(inputs)
      ? inputs.map((input): Json => ({ ...call, input }))
      : Array.from({ length: count }, (): Json => call);
    const whole: JsonObject = {};
    const each: JsonObject = isObject(expectEach) ? { ...expectEach } : {};
    for (const [key, value] of Object.entries(expect)) {
      if (/^(?:each|every|all)$/.test(key) && isObject(value)) {
        Object.assign(each, value);
      } else (OF_ALL_CALLS.test(key) ? whole : each)[key] = value;
    }
    let problem: string | undefined;
    const all = async (): Promise<Finding> => {
      const problems = await Promise.all(calls.map(async (item) => {
        if (!isObject(item)) throw new TypeError("a call must be an object");
        const own = isObject(item.expect) ? item.expect : {};
        return await this.#observe(
          { ...each, ...own },
          () =>
            item.op === undefined || item.op === "call"
              ? callStep(this.#play, item)
              : this.#act(item),
        );
      }));
      problem = problems.find((found) => found !== undefined);
      return {};
    };
    return await this.#observe(whole, all) ?? problem;
  }
}

/** Forgets the decisions about one plugin, or all. */
async function untrustStep(store: TrustStore, step: JsonObject): Promise<void> {
  const { name } = stepKeys(step, { name: ["plugin"] });
  if (name === undefined) {
    await store.clear();
    return;
  }
  const { records } = await store.read();
  for (const [path, record] of records) {
    if (record.name === name) await store.remove(path);
  }
}

/** What is expected of calls together; the rest is expected of each. */
const OF_ALL_CALLS =
  /^(?:\w*M(?:s|S)\w*|within\w*|absent|present|file\w*|pid\w*|no\w*|eventLoop\w*|hostRss\w*|\w*[rR]ss\w*)$/;

function setEnvironment(values: JsonObject): () => void {
  const old = new Map<string, string | undefined>();
  for (const [name, value] of Object.entries(values)) {
    old.set(name, Deno.env.get(name));
    if (value === null) Deno.env.delete(name);
    else Deno.env.set(name, string(value, name));
  }
  return () => {
    for (const [name, value] of old) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  };
}
