import {
  type CommandIo,
  parseFlags,
  printResult,
  UsageError,
} from "@bulkhead/sandbox/command";
import {
  atMost,
  confinementOf,
  leave,
  load,
  loadingFlags,
  onlyLibraryOf,
  operandsOf,
} from "./_cli_shared.ts";
import { oneLine } from "./_cli_safe.ts";
import {
  type Finding,
  verifyLibrary,
  type VerifyReport,
} from "./conformance.ts";
import { generateHeader } from "./header.ts";
import { stringifyJson } from "./json.ts";
import { EVENT_NAMES } from "./codes.ts";
import { inspectLibrary } from "./preflight.ts";
import { writeScaffold } from "./scaffold.ts";

/** `abi inspect LIB` */
export async function inspect(args: string[], io: CommandIo): Promise<number> {
  const flags = parseFlags(args, { boolean: ["json"], string: ["sha256"] });
  const sha256 = flags.text("sha256");
  const report = await inspectLibrary(
    onlyLibraryOf(flags, "bulkhead abi inspect LIB"),
    sha256 === undefined ? {} : { sha256 },
  );
  if (flags.on("json")) {
    printResult(io, { ...report });
    return 0;
  }
  const lines: [string, unknown][] = [
    ["path", oneLine(report.path)],
    ["name", oneLine(report.name)],
    ["format", `${report.format}, ${report.arch}, ${report.size} bytes`],
    ["content", report.sha256],
    ["entry", report.entry],
    [
      "exports",
      `${report.exportCount}, of these rpi_*: ${
        oneLine(report.exports.join(", "))
      }`,
    ],
    ["needs", oneLine(report.needs.join(", ")) || "nothing"],
    [
      "at open",
      report.initializers
        ? "runs constructors of its own"
        : "runs no constructor of its own",
    ],
  ];
  if (report.retired.length > 0) {
    lines.push(["retired", oneLine(report.retired.join(", "))]);
  }
  for (const [key, value] of lines) io.out(`${key.padEnd(9)}${value}\n`);
  return 0;
}

/** `abi tools LIB` */
export async function tools(args: string[], io: CommandIo): Promise<number> {
  const flags = loadingFlags(args);
  const plugin = await load(
    flags,
    io,
    onlyLibraryOf(flags, "bulkhead abi tools LIB"),
  );
  const { registration } = plugin;
  await plugin.close();
  if (flags.on("json")) {
    const events = registration.events.map((tag) => EVENT_NAMES[tag]);
    io.out(
      stringifyJson({
        schema: 1,
        ok: true,
        plugin: plugin.name,
        ...registration,
        events,
      }) + "\n",
    );
    return leave(flags, 0);
  }
  let listed = 0;
  const line = (kind: string, name: string, about = "") => {
    listed++;
    io.out(
      `${kind.padEnd(10)}${oneLine(name)}  ${oneLine(about)}`.trimEnd() + "\n",
    );
  };
  for (const { name, description } of registration.tools) {
    line("tool", name, description);
  }
  for (const { name, description } of registration.commands) {
    line("command", `/${name}`, description);
  }
  for (const { name, description } of registration.shortcuts) {
    line("shortcut", name, description);
  }
  for (const { name, description } of registration.flags) {
    line("flag", `--${name}`, description);
  }
  for (const { id, baseUrl } of registration.providers) {
    line("provider", id, baseUrl);
  }
  for (const { id } of registration.oauth) line("login", id);
  for (const { kind, name } of registration.renderers) {
    line("renderer", `${kind} ${name}`);
  }
  if (registration.events.length > 0) {
    line(
      "events",
      [...new Set(registration.events)].map((tag) => EVENT_NAMES[tag]).join(
        ", ",
      ),
    );
  }
  if (listed === 0) io.err(`note: ${oneLine(plugin.name)} registers nothing\n`);
  for (const text of registration.diagnostics) {
    io.err(`note: ${oneLine(text)}\n`);
  }
  return leave(flags, 0);
}

/** `abi verify LIB` */
export async function verify(args: string[], io: CommandIo): Promise<number> {
  const flags = loadingFlags(args, {
    string: ["tool", "args", "calls", "timeout-ms"],
  });
  if (flags.on("in-process")) {
    throw new UsageError(
      "Cannot verify in this process: a crash would end the report",
      "leave --in-process out",
    );
  }
  const tool = flags.text("tool");
  const text = flags.text("args");
  const calls = flags.integer("calls", 1);
  const callTimeoutMs = flags.integer("timeout-ms", 1);
  const report = await verifyLibrary(
    onlyLibraryOf(flags, "bulkhead abi verify LIB"),
    {
      ...confinementOf(flags),
      ...tool === undefined ? {} : { tool },
      ...text === undefined ? {} : { args: text },
      ...calls === undefined ? {} : { calls },
      ...callTimeoutMs === undefined ? {} : { callTimeoutMs },
    },
  );
  if (flags.on("json")) {
    const first = report.findings.find((finding) => finding.level === "error");
    const error = first === undefined ? {} : {
      error: {
        code: "not_conformant",
        message: `${first.check}: ${first.message}`,
        fix: first.fix,
      },
    };
    io.out(JSON.stringify({ schema: 1, ...report, ...error }) + "\n");
  } else printReport(io, report);
  return report.ok ? 0 : 1;
}

function printReport(io: CommandIo, report: VerifyReport): void {
  for (const { name, status, detail } of report.checks) {
    io.out(`${status.padEnd(8)}${name.padEnd(10)}${detail}\n`);
  }
  const order: Finding["level"][] = ["error", "warning", "info"];
  for (const level of order) {
    for (const { check, fix, level: own, message } of report.findings) {
      if (own === level) {
        io.out(
          `${level.padEnd(8)}${check.padEnd(10)}${oneLine(message, 500)}${
            fix === undefined ? "" : `; ${fix}`
          }\n`,
        );
      }
    }
  }
  for (const line of figureLines(report.figures)) io.out(`figure  ${line}\n`);
  io.out(report.ok ? "it keeps the ABI\n" : "it breaks the ABI\n");
}

/** The figures of the many calls, for a person. */
function figureLines(figures: VerifyReport["figures"]): string[] {
  const { calls } = figures;
  if (calls === undefined) return [];
  const the = (name: string) => figures[name] ?? 0;
  const megabytes = Math.round(the("rssGrowthBytes") / 100_000) / 10;
  return [
    `calls     ${calls}, ${the("microsecondsPerCall")} µs each, longest poll ${
      the("longestPollMs")
    } ms`,
    `strings   of the host ${the("hostStringsGiven")} given, ${
      the("hostStringsFreed")
    } freed; of the plugin ${the("pluginStringsReceived")} given, ${
      the("pluginStringsFreed")
    } freed`,
    `memory    ${the("liveHandles")} live handles, ${
      the("heapBytesPerCall")
    } bytes of malloc kept a call, process grew by ${megabytes} MB`,
  ];
}

/** `abi header` */
export async function header(args: string[], io: CommandIo): Promise<number> {
  const flags = parseFlags(args, { boolean: ["json"], string: ["out"] });
  atMost(1, flags, "bulkhead abi header --out FILE");
  const text = generateHeader();
  const out = flags.text("out") ?? operandsOf(flags)[0];
  if (out !== undefined) await Deno.writeTextFile(out, text);
  if (flags.on("json")) {
    printResult(io, out === undefined ? { header: text } : { path: out });
  } else io.out(out === undefined ? text : `wrote ${out}\n`);
  return 0;
}

/** `abi new DIR --lang c|rust` */
export async function scaffold(args: string[], io: CommandIo): Promise<number> {
  const flags = parseFlags(args, { boolean: ["json"], string: ["lang"] });
  const [dir] = operandsOf(flags);
  const language = flags.text("lang") ?? "c";
  const usage = "bulkhead abi new DIR --lang c|rust";
  atMost(1, flags, usage);
  if (dir === undefined) {
    throw new UsageError(
      "Cannot create a plugin: no directory is named",
      usage,
    );
  }
  if (language !== "c" && language !== "rust") {
    throw new UsageError(
      `Cannot create a plugin: there is no template for "${language}"`,
      usage,
    );
  }
  const files = await writeScaffold(dir, language);
  if (flags.on("json")) printResult(io, { dir, language, files });
  else {
    for (const file of files) io.out(`${dir}/${file}\n`);
    io.out(`build it: make -C ${dir}\n`);
  }
  return 0;
}
