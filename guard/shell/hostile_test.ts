import { assertEquals } from "@std/assert";
import { HOSTILE_COMMANDS } from "../../scripts/bench/_hostile_commands.ts";
import { decideCall } from "../explain.ts";

Deno.test("decideCall() comes to an end on every hostile text", () => {
  for (const command of Object.values(HOSTILE_COMMANDS)) {
    const { effects } = decideCall(
      { toolName: "Bash", toolInput: { command }, cwd: "/work/env" },
      { active: true, allowedRoots: ["/work/env"] },
      { now: 0, home: "/home/me", paths: { readLink: () => undefined } },
    );
    assertEquals(effects.length < 20_000, true);
  }
});

Deno.test("decideCall() denies a command that names more than it looks at", () => {
  for (const command of ["touch ", "socat ", "rm "]) {
    const names = command === "socat " ? "CREATE:a " : "a ";
    const { allow, effects } = decideCall(
      {
        toolName: "Bash",
        toolInput: { command: command + names.repeat(10_000) + "/srv/x" },
        cwd: "/work/env",
      },
      { active: true, allowedRoots: ["/work/env"] },
      { now: 0, paths: { readLink: () => undefined } },
    );
    assertEquals([allow, effects.length < 5_000], [false, true], command);
  }
});

Deno.test("decideCall() lets a malformed text without a sign of a write pass", () => {
  for (
    const command of ["git log 'unterminated", "echo $(git status", "find . ("]
  ) {
    const { allow } = decideCall(
      { toolName: "Bash", toolInput: { command }, cwd: "/work/env" },
      { active: true, allowedRoots: ["/work/env"] },
      { now: 0, paths: { readLink: () => undefined } },
    );
    assertEquals(allow, true, command);
  }
});

Deno.test("decideCall() denies a write behind any amount of padding", () => {
  for (
    const padding of [
      "a;",
      "'a' ",
      "$(a) ",
      "a&&",
      "{a,b} ",
      "x".repeat(100) + ";",
      "# c\n",
    ]
  ) {
    for (
      const [size, write] of [
        [1_000, "touch /srv/x"],
        [30_000, "find /srv -delete"],
        [30_000, "touch /srv/x"],
        [200_000, "git -C /srv clean -fdx"],
        [300_000, 'python3 -c \'open("/srv/x", "w")\''],
      ] as const
    ) {
      const command = ": " + padding.repeat(Math.ceil(size / padding.length)) +
        `\n${write}`;
      const decision = decideCall(
        { toolName: "Bash", toolInput: { command }, cwd: "/work/env" },
        { active: true, allowedRoots: ["/work/env"] },
        { now: 0, paths: { readLink: () => undefined } },
      );
      assertEquals(decision.allow, false, `${JSON.stringify(padding)} ${size}`);
    }
  }
});
