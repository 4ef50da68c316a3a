import { assertEquals } from "@std/assert";
import { crashError, lastWords } from "./child_errors.ts";

const ABORT = `thread '<unnamed>' panicked at src/lib.rs:7:9:
boom
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace

thread '<unnamed>' panicked at library/core/src/panicking.rs:225:5:
panic in a function that cannot unwind
stack backtrace:
   0:     0x7f11 - std::backtrace
             at /rustc/library/std.rs:1
thread caused non-unwinding panic. aborting.`;

Deno.test("lastWords() tells of the panic that was meant, and of no back trace", () => {
  assertEquals(lastWords("", undefined), "");
  assertEquals(lastWords("one\ntwo\n", "SIGSEGV"), "two");
  assertEquals(
    lastWords(ABORT, "SIGABRT"),
    "panicked at src/lib.rs:7:9: boom",
  );
  // A panic that was caught has nothing to do with a fault that came later.
  assertEquals(lastWords(`${ABORT}\nafter`, "SIGSEGV"), "after");
  assertEquals(
    lastWords(
      "double free\nnote: run with it\n==== C stack trace ====\n    /usr/lib/x(+0x12) [0x5]",
      "SIGABRT",
    ),
    "double free",
  );
  assertEquals(lastWords("x".repeat(9_000), undefined).length, 200);
});

Deno.test("crashError() names every signal that ends a process, also from inside a PID namespace", () => {
  const signal = (code: number, isolation: "bubblewrap" | "landlock") =>
    crashError("p", { code, signal: null }, isolation, "").signal;
  assertEquals([138, 139, 134, 142, 155].map((c) => signal(c, "bubblewrap")), [
    "SIGUSR1",
    "SIGSEGV",
    "SIGABRT",
    "SIGALRM",
    "SIGPROF",
  ]);
  assertEquals(signal(139, "landlock"), undefined);
  const own = crashError("p", { code: 7, signal: null }, "bubblewrap", "bye");
  assertEquals([own.signal, own.exitCode], [undefined, 7]);
  assertEquals(
    own.message,
    'Plugin "p" ended its process unexpectedly (exit code 7): bye',
  );
});
