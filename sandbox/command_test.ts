import { assertEquals, assertThrows } from "@std/assert";
import {
  closest,
  type CommandIo,
  describeFailure,
  parseFlags,
  printFailure,
  UsageError,
} from "./command.ts";
import { PermissionRequiredError } from "./permissions.ts";

function fakeIo(): CommandIo & { printed: { out: string; err: string } } {
  const printed = { out: "", err: "" };
  return {
    printed,
    stdin: new ReadableStream(),
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
    isTerminal: false,
    canAsk: false,
    color: false,
  };
}

Deno.test("parseFlags() takes values inline and apart, and collects", () => {
  const flags = parseFlags(
    ["--root=/a", "--root", "/b", "--name=x=y", "op", "--no-color", "-"],
    { collect: ["root"], string: ["name"], boolean: ["color"] },
  );
  assertEquals(flags.list("root"), ["/a", "/b"]);
  assertEquals(flags.text("name"), "x=y");
  assertEquals([flags.on("color"), flags.off("color")], [false, true]);
  assertEquals(flags.operands, ["op", "-"]);
});

Deno.test("parseFlags() refuses what it does not know", () => {
  const spec = { string: ["home"], boolean: ["json"] };
  for (
    const [args, message] of [
      [["--hoem", "x"], "did you mean --home?"],
      [["--home"], "--home needs a value"],
      [["--home", "a", "--home", "b"], "given twice"],
      [["--json=1"], "takes no value"],
      [["-x"], '"-x" is not a flag'],
    ] as const
  ) assertThrows(() => parseFlags(args, spec), UsageError, message);
});

Deno.test("parseFlags() reads whole numbers", () => {
  const spec = { string: ["n"] };
  assertEquals(parseFlags(["--n", "7"], spec).integer("n"), 7);
  for (const bad of ["x", "1.5", "-1", "99999999999999999999"]) {
    assertThrows(
      () => parseFlags([`--n=${bad}`], spec).integer("n"),
      UsageError,
      "whole number",
    );
  }
});

Deno.test("parseFlags() reads one of some words", () => {
  const spec = { string: ["level"] };
  const levels = ["high", "middle", "low"] as const;
  assertEquals(parseFlags([], spec).choice("level", levels), undefined);
  const given = parseFlags(["--level", "low"], spec);
  assertEquals(given.choice("level", levels), "low");
  assertThrows(
    () => parseFlags(["--level", "deep"], spec).choice("level", levels),
    UsageError,
    '--level is "deep"; it takes high, middle or low',
  );
});

Deno.test("closest() counts a swap once", () => {
  assertEquals(closest("isntall", ["install", "update"]), "install");
  assertEquals(closest("q", ["install"]), undefined);
});

Deno.test("printFailure() prints one line, or the envelope", () => {
  const io = fakeIo();
  assertEquals(printFailure(io, new UsageError("Cannot", "do"), false), 2);
  assertEquals(io.printed.err, "error: Cannot; do\n");
  const error = new PermissionRequiredError("Running", "--allow-run");
  assertEquals(printFailure(io, error, true), 1);
  assertEquals(JSON.parse(io.printed.out), {
    schema: 1,
    ok: false,
    error: {
      code: "permission_required_error",
      message: error.message,
      fix: "run again with --allow-run",
    },
  });
});

Deno.test("describeFailure() never shows a stack", () => {
  assertEquals(describeFailure("plain"), { code: "error", message: "plain" });
  assertEquals(
    describeFailure(new Deno.errors.NotADirectory("x")).code,
    "not_a_directory",
  );
});

Deno.test("printFailure() lets no name act on the terminal", () => {
  const io = fakeIo();
  printFailure(io, new Error('Cannot open "\x1b[2J\u202ea\nb"'), false);
  assertEquals(io.printed.err, 'error: Cannot open "\\u{1b}[2J\\u{202e}a b"\n');
});
