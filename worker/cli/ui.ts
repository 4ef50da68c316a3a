/**
 * The command that serves the page to watch with.
 *
 * @module
 */

import {
  type CommandIo,
  type Flags,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import { ensureHome } from "../store/home.ts";
import { homeOf, type WorkerVerb } from "./shared.ts";

/** `ui`: the page to watch with. */
export const ui: WorkerVerb = {
  summary:
    "serve a page on loopback that shows every session and answers questions",
  help: `Usage: worker ui

  --port N        the port on 127.0.0.1 (default: any free one)

Ends on Ctrl-C. Whoever has the printed address may answer questions: the token is in its fragment.

Examples:
  bulkhead worker ui
  bulkhead worker ui --port 8080
`,
  flags: { string: ["port"] },
  operands: [0, 0],
  async run(flags: Flags, io: CommandIo): Promise<number> {
    const { servePage } = await import("../page/server.ts");
    const port = flags.integer("port");
    if (port !== undefined && port > 65_535) {
      throw new UsageError(
        `Cannot read the command line: --port is "${port}"; it takes a whole number of at most 65535`,
        "--port 0",
      );
    }
    const home = homeOf(flags);
    await ensureHome(home);
    await using page = await servePage({
      home: home.root,
      ...(port === undefined ? {} : { port }),
    });
    if (flags.on("json")) printResult(io, { url: page.url, port: page.port });
    else io.out(`${page.url}\n`);
    await ended();
    return 0;
  },
};

/** Resolves on INT or TERM. */
function ended(): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        Deno.removeSignalListener(signal, end);
      }
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      Deno.addSignalListener(signal, end);
    }
  });
}
