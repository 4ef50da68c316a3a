/**
 * The scripted model as a program.
 *
 * @module
 */
import { reasonOf } from "@bulkhead/sandbox";
import { parseArgs } from "@std/cli/parse-args";
import { parseScript } from "./script.ts";
import { type RecordedRequest, startScriptedModel } from "./server.ts";

const USAGE =
  `Usage: scripted_model.ts SCRIPT.json [--port N] [--record FILE] [--var NAME=VALUE]… [--check]

Plays SCRIPT.json to a coding agent as Anthropic Messages, OpenAI Responses and Chat Completions.
Prints the origin. Ends at SIGINT or SIGTERM with the steps no agent asked for, exit code 1 if any.

  --port N         port on 127.0.0.1 (default: any free one)
  --record FILE    append every request as one JSON line
  --var NAME=VALUE put VALUE where the script says {{NAME}}
  --check          only check the script`;

const encoder = new TextEncoder();

async function print(
  text: string,
  to: { write(p: Uint8Array): Promise<number> } = Deno.stdout,
): Promise<void> {
  const bytes = encoder.encode(text + "\n");
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

async function serve(
  file: string,
  port: number,
  record: string | undefined,
  vars: Record<string, string>,
  check: boolean,
) {
  const script = parseScript(await Deno.readTextFile(file), {
    name: file,
    vars,
  });
  if (check) return 0;
  using log = record === undefined
    ? undefined
    : await Deno.open(record, { append: true, create: true, mode: 0o600 });
  const onRequest = (request: RecordedRequest): void => {
    log?.writeSync(encoder.encode(JSON.stringify(request) + "\n"));
  };
  await using model = await startScriptedModel(script, { port, onRequest });
  await print(model.origin);
  await new Promise<void>((resolve) => {
    Deno.addSignalListener("SIGINT", resolve);
    Deno.addSignalListener("SIGTERM", resolve);
  });
  const left = [...model.problems, ...model.unreached()];
  for (const line of left) await print(line, Deno.stderr);
  return left.length === 0 ? 0 : 1;
}

/**
 * Runs the program.
 *
 * @param args Of the command line.
 * @returns The exit code.
 */
export async function main(args: readonly string[]): Promise<number> {
  let bad: string | undefined;
  const flags = parseArgs([...args], {
    string: ["port", "record", "var"],
    boolean: ["check", "help"],
    collect: ["var"],
    unknown: (arg) => {
      if (arg.startsWith("-")) bad ??= arg;
    },
  });
  if (flags.help) {
    await print(USAGE);
    return 0;
  }
  const port = Number(flags.port ?? 0);
  const given = Array.isArray(flags.var) ? flags.var : [];
  const vars = given.map((pair) => String(pair).split(/=(.*)/s));
  const wrong = vars.find((pair) => pair.length < 2);
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    bad ??= `--port ${flags.port}`;
  }
  if (wrong) bad ??= `--var ${wrong[0]}`;
  const record = typeof flags.record === "string" ? flags.record : undefined;
  const [file] = flags._;
  if (bad !== undefined || file === undefined) {
    await print(
      bad === undefined ? USAGE : `Cannot understand "${bad}"\n\n${USAGE}`,
      Deno.stderr,
    );
    return 2;
  }
  try {
    const values = Object.fromEntries(
      vars.map(([name, value]) => [name ?? "", value ?? ""]),
    );
    return await serve(
      String(file),
      port,
      record,
      values,
      flags.check === true,
    );
  } catch (error) {
    await print(
      reasonOf(error),
      Deno.stderr,
    );
    return 1;
  }
}
