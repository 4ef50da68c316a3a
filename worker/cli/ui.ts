import { UsageError } from "@bulkhead/sandbox/command";
import type { WorkerVerb } from "./shared.ts";

/** `ui`: the page to watch with. */
export const ui: WorkerVerb = {
  summary: "serve the page to watch with",
  help: "Usage: worker ui [--port N]\n",
  flags: { string: ["port"] },
  operands: [0, 0],
  run(): Promise<number> {
    return Promise.reject(
      new UsageError(
        "Cannot serve the page: it is not here yet",
        "bulkhead worker watch ID",
      ),
    );
  },
};
