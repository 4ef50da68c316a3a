import { loadConfig, type ResolvedConfig } from "@bulkhead/plugins/config";
import { ensurePrivateDir, writeFileAtomic } from "@bulkhead/sandbox";
import type { CommandIo } from "@bulkhead/sandbox/command";
import {
  type AgentDriver,
  createPosture,
  type Decider,
  guardDecider,
  guardMarker,
  realRoot,
  runWorker,
  type Worker,
} from "@bulkhead/worker";
import type { FleetMember } from "@bulkhead/worker/fleet";
import { type ReadLine, terminalLines } from "@bulkhead/worker/terminal";
import { chooseAgent, type ChosenAgent, launched } from "./agents.ts";
import { lateDecider } from "./late_decider.ts";
import { attachSession, joinSession } from "./fleet.ts";
import { SessionHooks } from "./hooks.ts";
import { LiveSession } from "./live.ts";
import { SessionNotes } from "./notes.ts";
import type { RunArguments } from "./options.ts";
import type { Places } from "./places.ts";
import { jsonRenderer, type Renderer, textRenderer } from "./render.ts";
import { allowList, askTimeout } from "./settings.ts";
import type { SessionTools } from "./tools.ts";

/** What a session needs besides its agent. */
interface SessionSetup {
  /** The configuration. */
  config: ResolvedConfig;
  /** Directories that may be written, links resolved. */
  roots: string[];
  /** What a person types. */
  readLine: ReadLine;
}

/** What a worker is started with besides its agent. */
interface WorkerParts {
  /** The id of a new session, where it has one already. */
  readonly session: { sessionId?: string };
  /** The tools, once they are loaded. */
  readonly tools: Promise<SessionTools>;
  /** Who judges calls, in order. */
  readonly deciders: Decider[];
}

/** One session of `bulkhead run`: brings up the agent, and what judges and serves it. */
export class HostedSession {
  readonly #args: RunArguments;
  readonly #places: Places;
  readonly #io: CommandIo;
  readonly #render: Renderer;
  readonly #notes: SessionNotes;
  readonly #started = performance.now();
  readonly #shortId = `run-${crypto.randomUUID().slice(0, 8)}`;
  #worker: Worker | undefined;

  /**
   * Takes what the session is made of; nothing is started.
   *
   * @param args The command line.
   * @param places Where it lives; the workspace is claimed.
   * @param io The terminal.
   */
  constructor(args: RunArguments, places: Places, io: CommandIo) {
    this.#args = args;
    this.#places = places;
    this.#io = io;
    this.#render = args.json ? jsonRenderer(io) : textRenderer(io);
    this.#notes = new SessionNotes(places.workspace);
  }

  /**
   * Plays it.
   *
   * @returns 0 when the turn was completed, 130 when Ctrl-C ended it, else 1.
   */
  async play(): Promise<number> {
    const { readLine, close } = terminalLines(this.#io);
    try {
      const roots = await this.#roots();
      const agent = await chooseAgent(
        this.#args,
        this.#places,
        () => this.#writeMarker(roots),
      );
      if (agent.notice) this.#render.warn(agent.notice);
      const config = await loadConfig(this.#places);
      return await this.#inFleet(agent, { config, roots, readLine });
    } finally {
      close();
      await Deno.remove(this.#marker).catch(() => {});
    }
  }

  async #roots(): Promise<string[]> {
    return [
      this.#places.workspace,
      ...await Promise.all(this.#args.roots.map(realRoot)),
    ];
  }

  get #marker(): string {
    return `${this.#places.home}/markers/${this.#shortId}.json`;
  }

  /** What is judged by when we are gone: agents whose gate is a process fall back to it. */
  async #writeMarker(roots: readonly string[]): Promise<string | undefined> {
    if (!this.#args.guard) return undefined;
    await ensurePrivateDir(`${this.#places.home}/markers`);
    const protectedPaths = [this.#places.home];
    const marker = guardMarker({ roots, protectedPaths });
    await writeFileAtomic(this.#marker, `${JSON.stringify(marker)}\n`);
    return this.#marker;
  }

  /** The session in the fleet first, if there is one: whoever runs it has claimed it. */
  async #inFleet(agent: ChosenAgent, setup: SessionSetup): Promise<number> {
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

  /** The agent takes longest to come up: its process goes first, and what judges and serves it is loaded meanwhile. */
  async #hosted(
    agent: ChosenAgent,
    setup: SessionSetup,
    member: FleetMember | undefined,
    sessionId: string,
  ): Promise<number> {
    const comesUp = Promise.withResolvers<void>();
    const guard = this.#args.guard
      ? comesUp.promise.then(() => this.#openGuard(setup))
      : undefined;
    const loading = comesUp.promise.then(() => this.#openTools(setup));
    const hooks = new SessionHooks(loading.then((all) => all.hooks), {
      id: () => this.#worker?.sessionId ?? "",
      workspace: this.#places.workspace,
      report: (line) => this.#render.warn(line),
    });
    const starting = this.#start(agent.driver, setup, {
      session: member === undefined ? {} : { sessionId },
      tools: loading,
      deciders: [
        ...member === undefined ? [] : [member.decider],
        ...guard === undefined ? [] : [lateDecider("guard", guard)],
        await this.#posture(setup),
        hooks.decider(),
      ],
    });
    starting.catch(() => {});
    launched(agent.driver, starting).then(comesUp.resolve);
    try {
      const [{ notices }] = await Promise.all([loading, guard]);
      for (const line of notices) this.#render.note(line);
      const worker = await starting;
      this.#worker = worker;
      await attachSession(member, worker);
      if (member !== undefined) this.#render.note(`fleet: ${member.id}`);
      return await new LiveSession({
        args: this.#args,
        places: this.#places,
        roots: setup.roots,
        io: this.#io,
        render: this.#render,
        notes: this.#notes,
        started: this.#started,
        readLine: setup.readLine,
        agent,
        worker,
        hooks,
      }).play();
    } catch (error) {
      await starting.then((worker) => worker.end(), () => {});
      if (this.#worker === undefined) await this.#forget();
      throw error;
    } finally {
      await loading.then((all) => all.close(), () => {});
    }
  }

  /** Starts the worker; its agent is offered the tools once they are there. */
  async #start(
    driver: AgentDriver,
    setup: SessionSetup,
    { session, tools: loading, deciders }: WorkerParts,
  ): Promise<Worker> {
    const { resume, model, keep } = this.#args;
    const { home, workspace, claims } = this.#places;
    let tools: SessionTools | undefined;
    loading.then((all) => tools = all, () => {});
    return await runWorker({
      shortId: this.#shortId,
      home: `${home}/workers`,
      cwd: workspace,
      ...claims === undefined ? {} : { claimsRoot: claims },
      driver,
      deciders,
      tools: {
        ready: loading,
        get: (name) => tools?.registry.get(name),
        [Symbol.iterator]: () => (tools?.registry ?? [])[Symbol.iterator](),
      },
      asks: keep ? "wait" : "attached",
      ...resume === undefined ? session : { resume },
      ...model === undefined ? {} : { model },
      ...askTimeout(setup.config.user),
    });
  }

  /** Nobody will ask for the name of a session that never began. */
  async #forget(): Promise<void> {
    const row = `${this.#places.home}/workers/${this.#shortId}`;
    await Deno.remove(row, { recursive: true }).catch(() => {});
  }

  async #openTools({ config, readLine }: SessionSetup): Promise<SessionTools> {
    if (!this.#wantsPlugins(config)) {
      const registry = { get: () => undefined, *[Symbol.iterator]() {} };
      const close = (): Promise<void> => Promise.resolve();
      return { registry, hooks: [], notices: config.notices, close };
    }
    const { openTools } = await import("./tools.ts");
    return await openTools(
      this.#args,
      this.#places,
      config,
      this.#io,
      readLine,
    );
  }

  /** Whether plugins are on, or named on the command line, which is switching them on. */
  #wantsPlugins({ config }: ResolvedConfig): boolean {
    return config.enabled || this.#places.claims !== undefined ||
      this.#args.pluginDirs.length > 0 || this.#args.trusted.length > 0;
  }

  #openGuard({ roots }: SessionSetup): Promise<Decider> {
    return guardDecider({
      roots,
      protectedPaths: [this.#places.home],
      home: Deno.env.get("HOME"),
      onWrite: (paths) => this.#notes.mayWrite(paths),
    });
  }

  async #posture({ config, roots }: SessionSetup): Promise<Decider> {
    return await createPosture({
      cwd: this.#places.workspace,
      rules: { allow: [...allowList(config.user), ...this.#args.allow] },
      roots,
    });
  }
}
