import { CHILD_FLAGS } from "@bulkhead/abi/child";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { build, canRun } from "./_abi.ts";
import { type MatrixRow, testMatrix } from "./support/permission_matrix.ts";

const from = (names: string): string =>
  `import { ${names} } from "@bulkhead/abi";\n`;
const LOAD = [
  "--allow-run",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-net",
];

const ready = await canRun();
const library = ready ? await build("01_ok") : "";

async function prepare(dir: string): Promise<void> {
  await Deno.copyFile(library, `${dir}/lib.so`);
}

/** Every exported function that touches the system, with its least flags. */
export const rows: MatrixRow[] = [
  {
    entry: "abi inspectLibrary()",
    code: from("inspectLibrary") + "await inspectLibrary(`${DIR}/lib.so`);",
    flags: ["--allow-read"],
    prepare,
  },
  {
    entry: "abi writeScaffold()",
    code: from("writeScaffold") +
      'await writeScaffold(`${DIR}/demo`, "c"); await Deno.remove(`${DIR}/demo`, { recursive: true });',
    flags: ["--allow-write"],
  },
  {
    entry: "abi loadNativePlugin()",
    code: from("loadNativePlugin") +
      "await using plugin = await loadNativePlugin(`${DIR}/lib.so`); await plugin.callTool('probe_echo');",
    flags: LOAD,
    prepare,
  },
  {
    entry: 'abi loadNativePlugin({ mode: "process" })',
    code: from("loadNativePlugin") +
      "const plugin = await loadNativePlugin(`${DIR}/lib.so`, { mode: 'process' }); await plugin.callTool('probe_echo');\n" +
      "console.log(JSON.stringify({ ok: true })); Deno.exit(0);",
    flags: ["--allow-ffi", "--allow-read"],
    prepare,
  },
  {
    entry: "abi verifyLibrary()",
    code: from("verifyLibrary") +
      "const { ok } = await verifyLibrary(`${DIR}/lib.so`, { calls: 10, callTimeoutMs: 200 }); if (!ok) throw new Error('not ok');",
    flags: LOAD,
    prepare,
  },
  {
    entry: "abi generateHeader()",
    code: from("generateHeader") + "generateHeader();",
    flags: [],
  },
];
if (ready) testMatrix(rows);

Deno.test({
  name: "the child of a plugin needs each of its flags and no other",
  ignore: !ready,
  fn: async () => {
    assertEquals(CHILD_FLAGS.map((flag) => flag.split("=")[0]), [
      "--allow-ffi",
      "--allow-read",
      "--allow-write",
      "--allow-net",
    ]);
    for (const left of ["", ...CHILD_FLAGS]) {
      const { loaded, said } = await child(
        CHILD_FLAGS.filter((flag) => flag !== left),
      );
      assertEquals(loaded, left === "", `without ${left}: ${said}`);
      const kind = left.split("=")[0]?.slice("--allow-".length) ?? "";
      if (left !== "") assertStringIncludes(said, `Requires ${kind} access`);
    }
  },
});

/** Starts the child by itself and lets it load a plugin. */
async function child(
  flags: readonly string[],
): Promise<{ loaded: boolean; said: string }> {
  const { FrameConnection } = await import("../abi/rpc.ts");
  const dir = await Deno.makeTempDir();
  const socket = `${dir}/s`;
  const listener = Deno.listen({ transport: "unix", path: socket });
  const module = fromFileUrl(new URL("../abi/child.ts", import.meta.url));
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-config",
      "--no-prompt",
      "--no-lock",
      ...flags.map((flag) => flag.replace("{socket}", socket)),
      module,
      socket,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const status = process.status;
  const stderr = new Response(process.stderr).text();
  let loaded = false;
  let failed = "";
  const accepted = listener.accept();
  accepted.catch(() => {});
  const conn = await Promise.race([accepted, status.then(() => undefined)]);
  if (conn !== undefined) {
    const connection = new FrameConnection(conn);
    connection.send({ t: "load", path: library, name: "x" });
    await connection.read((head) => {
      if (head.t === "loaded") loaded = true;
      if (head.t === "failed") failed = `${head.message}`;
      if (head.t === "loaded" || head.t === "failed") {
        connection.send({ t: "bye" });
      }
    });
    connection.close();
  }
  assert((await status).code !== null);
  listener.close();
  await Deno.remove(dir, { recursive: true });
  return { loaded, said: failed + await stderr };
}
