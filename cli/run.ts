import { loadConfig, ToolRegistry } from "@bulkhead/plugins";
import {
  bulkheadHome,
  ensurePrivateDir,
  writeFileAtomic,
} from "@bulkhead/sandbox";
import type { CommandIo } from "@bulkhead/sandbox/command";
import {
  createPosture,
  type Decider,
  runWorker,
  type TurnOutcome,
  type Worker,
  type WorkerEnd,
} from "@bulkhead/worker";
import type { FleetMember } from "@bulkhead/worker/fleet";
import { chooseAgent, type ChosenAgent } from "./run/agents.ts";
import { answerInPlace, approveAll } from "./run/asks.ts";
import { guardDecider, guardMarker } from "./run/deciders.ts";
import { attachSession, joinSession, queueRun } from "./run/fleet.ts";
import { SessionHooks } from "./run/hooks.ts";
import { watchLaunchers } from "./run/launchers.ts";
import { type ReadLine, terminalLines } from "@bulkhead/worker/terminal";
import {
  parseRunArguments,
  RUN_HELP,
  type RunArguments,
} from "./run/options.ts";
import { claimWorkspace } from "./run/claim.ts";
import { openPlaces, type Places, realRoot } from "./run/places.ts";
import {
  follow,
  jsonRenderer,
  type Renderer,
  textRenderer,
} from "./run/render.ts";
import { SessionNotes } from "./run/notes.ts";
import { allowList, askTimeout } from "./run/settings.ts";
import { printSummary } from "./run/summary.ts";
import { openTools, type SessionTools } from "./run/tools.ts";
import { watchSocket } from "./run/watchdog.ts";

/**
 * `bulkhead run`: hosts one guarded session.
 *
 * @param args The arguments after `run`.
 * @param io The terminal.
 * @returns 0 when the turn was completed, else 1.
 */
export async function runCommand(
  args: string[],
  io: CommandIo,
): Promise<number> {
  const parsed = parseRunArguments(args);
  if (parsed.help) {
    io.out(RUN_HELP);
    return 0;
  }
  if (parsed.queue) {
    return await queueRun(parsed, bulkheadHome(parsed.home), io);
  }
  const stopWatching = watchLaunchers(() => {
    io.err("ending: the program that started this run is gone\n");
    Deno.kill(Deno.pid, "SIGTERM");
  });
  try {
    const places = await openPlaces(parsed);
    try {
      const release = await claimWorkspace(
        places,
        (line) => io.err(`${line}\n`),
      );
      try {
        return await new Run(parsed, places, io).play();
      } finally {
        await release();
      }
    } finally {
      await places.dispose();
    }
  } finally {
    stopWatching();
  }
}

/** What a session is made of besides its agent. */
interface SessionSetup {
  /** The user's configuration. */
  user: Record<string, unknown>;
  /** Plugins, which are found and hashed while the agent comes up. */
  loading: Promise<SessionTools>;
  /** Where their tools go. */
  registry: ToolRegistry;
  /** What a person types. */
  readLine: ReadLine;
}

/** One session from its first line to its summary. */
class Run {
  readonly #args: RunArguments;
  readonly #places: Places;
  readonly #io: CommandIo;
  readonly #render: Renderer;
  readonly #notes: SessionNotes;
  readonly #started = performance.now();
  readonly #shortId = `run-${crypto.randomUUID().slice(0, 8)}`;
  #worker: Worker | undefined;

  constructor(args: RunArguments, places: Places, io: CommandIo) {
    this.#args = args;
    this.#places = places;
    this.#io = io;
    this.#render = args.json ? jsonRenderer(io) : textRenderer(io);
    this.#notes = new SessionNotes(places.workspace);
  }

  async play(): Promise<number> {
    const { readLine, close } = terminalLines(this.#io);
    try {
      const marker = this.#args.guard ? await this.#writeMarker() : undefined;
      const agent = await chooseAgent(this.#args, this.#places, marker);
      if (agent.notice) this.#render.warn(agent.notice);
      const config = await loadConfig(this.#places);
      // The agent takes longest to come up: plugins are found and hashed meanwhile.
      const registry = new ToolRegistry();
      const loading = openTools(
        this.#args,
        this.#places,
        config,
        this.#io,
        readLine,
        registry,
      );
      loading.catch(() => {});
      try {
        return await this.#session(agent, {
          user: config.user,
          loading,
          registry,
          readLine,
        });
      } finally {
        await loading.then((tools) => tools.close(), () => {});
      }
    } finally {
      close();
      await Deno.remove(this.#marker).catch(() => {});
    }
  }

  /** What is judged by when we are gone: agents whose gate is a process fall back to it. */
  async #writeMarker(): Promise<string> {
    await ensurePrivateDir(`${this.#places.home}/markers`);
    const marker = guardMarker({
      roots: await this.#roots(),
      protectedPaths: [this.#places.home],
    });
    await writeFileAtomic(this.#marker, `${JSON.stringify(marker)}\n`);
    return this.#marker;
  }

  get #marker(): string {
    return `${this.#places.home}/markers/${this.#shortId}.json`;
  }

  async #roots(): Promise<string[]> {
    return [
      this.#places.workspace,
      ...await Promise.all(this.#args.roots.map(realRoot)),
    ];
  }

  /** The session in the fleet first, if there is one: whoever runs it has claimed it. */
  async #session(agent: ChosenAgent, setup: SessionSetup): Promise<number> {
    const { resume } = this.#args;
    const sessionId = resume ?? crypto.randomUUID();
    const member = await joinSession(this.#args, this.#places.home, {
      shortId: this.#shortId,
      sessionId,
      cwd: this.#places.workspace,
      resumed: resume !== undefined,
      log: (line) => this.#render.warn(line),
    });
    try {
      return await this.#hosted(agent, setup, member, sessionId);
    } finally {
      await member?.close();
    }
  }

  async #hosted(
    agent: ChosenAgent,
    setup: SessionSetup,
    member: FleetMember | undefined,
    sessionId: string,
  ): Promise<number> {
    const { loading, registry, readLine } = setup;
    const hooks = new SessionHooks(loading.then((tools) => tools.hooks), {
      id: () => this.#worker?.sessionId ?? "",
      workspace: this.#places.workspace,
      report: (line) => this.#render.warn(line),
    });
    const starting = runWorker({
      shortId: this.#shortId,
      home: `${this.#places.home}/workers`,
      cwd: this.#places.workspace,
      driver: agent.driver,
      deciders: [
        ...member === undefined ? [] : [member.decider],
        ...await this.#deciders(setup.user, hooks),
      ],
      tools: {
        ready: loading,
        get: (name) => registry.get(name),
        [Symbol.iterator]: () => registry[Symbol.iterator](),
      },
      asks: this.#args.keep ? "wait" : "attached",
      ...this.#args.resume !== undefined
        ? { resume: this.#args.resume }
        : member === undefined
        ? {}
        : { sessionId },
      ...this.#args.model === undefined ? {} : { model: this.#args.model },
      ...askTimeout(setup.user),
    });
    starting.catch(() => {});
    let tools: SessionTools;
    try {
      tools = await loading;
    } catch (error) {
      await starting.then((worker) => worker.end(), () => {});
      throw error;
    }
    for (const line of tools.notices) this.#render.note(line);
    const worker = await starting;
    this.#worker = worker;
    await attachSession(member, worker);
    if (member !== undefined) this.#render.note(`fleet: ${member.id}`);
    await hooks.tell("session_start");
    const dog = await watchSocket(worker.socketPath);
    const stopFollowing = this.#follow(worker, hooks);
    const stopSignals = this.#listen(worker);
    const stopAnswering = this.#answer(worker, readLine);
    let outcome: TurnOutcome | undefined;
    let end: WorkerEnd | undefined;
    try {
      this.#showGate(agent, worker);
      outcome = await this.#turn(worker, hooks);
      await hooks.settled();
      await hooks.tell("stop");
      if (this.#args.keep) await this.#keep(worker);
    } finally {
      end = await worker.end();
      stopFollowing();
      stopAnswering();
      stopSignals();
      await hooks.tell("session_end");
      await dog.end();
    }
    await this.#summarise(agent, worker, outcome, end);
    return outcome?.outcome === "completed" ? 0 : 1;
  }

  async #deciders(
    user: Record<string, unknown>,
    hooks: SessionHooks,
  ): Promise<Decider[]> {
    const { workspace, home } = this.#places;
    const roots = await this.#roots();
    const allow = [...allowList(user), ...this.#args.allow];
    const posture = await createPosture({
      cwd: workspace,
      rules: { allow },
      roots,
    });
    const guard = guardDecider({
      roots,
      protectedPaths: [home],
      home: Deno.env.get("HOME"),
      onWrite: (call, paths) => this.#notes.mayWrite(call, paths),
    });
    return [
      ...this.#args.guard ? [guard] : [],
      posture,
      hooks.decider(),
    ];
  }

  /** The gate is shown before the first turn, and without one there is no turn. */
  #showGate(agent: ChosenAgent, worker: Worker): void {
    const { kind, verified, detail } = worker.gate;
    if (kind !== "none" && !verified) {
      throw new Error(
        `Cannot run "${agent.name}": its gate is not verified (${detail}); update the agent or choose another --agent`,
      );
    }
    this.#render.start({
      agent: agent.name,
      pid: Deno.pid,
      agentPid: agent.driver.status().pid,
      gate: kind,
      verified,
      guard: this.#args.guard,
      workspace: this.#places.workspace,
      socket: worker.socketPath,
    });
    if (!this.#args.guard) {
      this.#render.warn(
        "WARNING: --no-guard: nothing judges where this agent writes",
      );
    }
    if (kind === "none") {
      this.#render.warn(
        `guard: asks only, no gate: ${agent.name} decides which calls it asks about (${detail})`,
      );
    }
  }

  async #turn(
    worker: Worker,
    hooks: SessionHooks,
  ): Promise<TurnOutcome | undefined> {
    const { prompt, example, script } = this.#args;
    if (prompt === "" && example === undefined && script === undefined) {
      // Only resumed, to be attached to.
      return undefined;
    }
    const said = await hooks.tell("user_prompt", { prompt });
    if (said?.decision === "deny") {
      throw new Error(
        `Cannot send the prompt: a plugin's hook refused it: ${
          said.reason ?? "no reason given"
        }`,
      );
    }
    const text = [
      prompt || "Play the script.",
      ...said?.additionalContext ?? [],
    ].join("\n\n");
    return await worker.ask(text);
  }

  async #keep(worker: Worker): Promise<void> {
    this.#render.note(
      `kept: bulkhead attach ${worker.shortId} --home ${this.#places.home}; Ctrl-C ends it`,
    );
    await worker.ended;
  }

  #follow(worker: Worker, hooks: SessionHooks): () => void {
    const render = this.#render;
    return follow(worker.session, {
      frame: (index, frame) => {
        hooks.observe(frame);
        render.frame(index, frame);
      },
      verdict: (call, verdict) => {
        this.#notes.judged(call, verdict);
        render.verdict(call, verdict);
      },
      note: (line) => render.note(line),
    });
  }

  #answer(worker: Worker, readLine: ReadLine): () => void {
    if (this.#args.approve) {
      return approveAll(worker.session, (line) => this.#render.note(line));
    }
    return this.#io.canAsk && !this.#args.json
      ? answerInPlace(worker.session, this.#io, readLine)
      : () => {};
  }

  /** The first Ctrl-C interrupts the turn, the second ends the session. */
  #listen(worker: Worker): () => void {
    let interrupted = false;
    const onInterrupt = (): void => {
      if (interrupted || worker.state === "idle") return void worker.end();
      interrupted = true;
      this.#render.note("interrupting the turn; once more ends the session");
      void worker.interrupt();
    };
    const onEnd = (): void => void worker.end();
    Deno.addSignalListener("SIGINT", onInterrupt);
    Deno.addSignalListener("SIGTERM", onEnd);
    Deno.addSignalListener("SIGHUP", onEnd);
    return () => {
      Deno.removeSignalListener("SIGINT", onInterrupt);
      Deno.removeSignalListener("SIGTERM", onEnd);
      Deno.removeSignalListener("SIGHUP", onEnd);
    };
  }

  async #summarise(
    agent: ChosenAgent,
    worker: Worker,
    outcome: TurnOutcome | undefined,
    end: WorkerEnd,
  ): Promise<void> {
    const stderr = end.agent.stderrTail.trim();
    if (end.agent.code !== 0 && stderr !== "") this.#render.warn(stderr);
    printSummary(this.#io, {
      agent: agent.name,
      session: worker.sessionId,
      outcome: outcome?.outcome ?? "kept",
      errors: outcome?.errors ?? [],
      written: await this.#notes.written(),
      denials: this.#notes.denials(outcome?.denied ?? []),
      costUsd: outcome?.costUsd ?? null,
      durationMs: performance.now() - this.#started,
      end,
    }, this.#args.json);
  }
}
