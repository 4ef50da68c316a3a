import { assertEquals } from "@std/assert";
import { plainOsError } from "./os_error.ts";

const ELSEWHERE =
  "choose another place, for Bulkhead's own files by --home or BULKHEAD_HOME";

Deno.test("plainOsError: what was tried, found and to do", () => {
  assertEquals(
    plainOsError(
      "Not a directory (os error 20): stat '/dev/null/config.toml'",
      "/dev/null",
    ),
    {
      message:
        'Cannot look at "/dev/null/config.toml": a part of its path is not a directory',
      fix: ELSEWHERE,
    },
  );
  assertEquals(
    plainOsError("No such file or directory (os error 2): rename '/a' -> '/b'"),
    {
      message: 'Cannot rename "/a" as "/b": there is no such file or directory',
    },
  );
});

Deno.test("plainOsError: --home is named for what it moves, and for nothing else", () => {
  const fix = (path: string, home?: string) =>
    plainOsError(`Permission denied (os error 13): mkdir '${path}'`, home)?.fix;
  const check = "check who owns it, or choose another place";
  assertEquals(fix("/ws/.claude", "/root/.bulkhead"), check);
  assertEquals(fix("/root/.bulkhead2", "/root/.bulkhead"), check);
  assertEquals(fix("/ws/.claude"), check);
  const moved = `check who owns it, or ${ELSEWHERE}`;
  assertEquals(fix("/root/.bulkhead/workers", "/root/.bulkhead"), moved);
  assertEquals(fix("/srv", "/srv/h"), moved);
});

Deno.test("plainOsError: an error that names nothing is the command's", () => {
  const raw = "No space left on device (os error 28)";
  const why = "no space is left on the device";
  const fix = "free some space";
  assertEquals(plainOsError(raw), { message: why, fix });
  assertEquals(plainOsError(raw, undefined, "plugins install"), {
    message: `Cannot finish "plugins install": ${why}`,
    fix,
  });
  assertEquals(
    plainOsError(`Cannot save: ${raw}`, undefined, "plugins install")?.message,
    `Cannot save: ${why}`,
  );
});

Deno.test("plainOsError: text around it stays, and a path is not named twice", () => {
  assertEquals(
    plainOsError(
      "Cannot use \"/h/r.json\": Permission denied (os error 13): stat '/h/r.json'; move it away",
    ),
    {
      message:
        'Cannot use "/h/r.json": its permissions forbid it; move it away',
    },
  );
  assertEquals(
    plainOsError(
      "Cannot start: Permission denied (os error 13): open '/h/lock'",
    )
      ?.message,
    'Cannot start: its permissions forbid it ("/h/lock")',
  );
});

Deno.test("plainOsError: a number that has no words here keeps the system's", () => {
  assertEquals(
    plainOsError("Too many open files (os error 24): readfile '/a'"),
    { message: 'Cannot read "/a": too many open files' },
  );
});

Deno.test("plainOsError: other messages are left alone", () => {
  assertEquals(plainOsError("Cannot read (os error): x"), undefined);
});

Deno.test("plainOsError: the messages are those that Deno writes", async () => {
  const failures: [string, () => Promise<unknown>][] = [
    ['Cannot make the directory "/dev/null"', () => Deno.mkdir("/dev/null")],
    [
      'Cannot list "/dev/null"',
      () => Array.fromAsync(Deno.readDir("/dev/null")),
    ],
    ['Cannot read "/dev/null/x"', () => Deno.readTextFile("/dev/null/x")],
    ['Cannot write "/dev/null/x"', () => Deno.writeTextFile("/dev/null/x", "")],
    ['Cannot open "/dev/null/x"', () => Deno.open("/dev/null/x")],
    ['Cannot resolve "/dev/null/x"', () => Deno.realPath("/dev/null/x")],
    ['Cannot remove "/dev/null/x"', () => Deno.remove("/dev/null/x")],
  ];
  for (const [start, fail] of failures) {
    const error: unknown = await fail().then(() => undefined, (error) => error);
    const message = error instanceof Error ? error.message : "";
    assertEquals(
      plainOsError(message)?.message.slice(0, start.length + 1),
      `${start}:`,
      message,
    );
  }
});
