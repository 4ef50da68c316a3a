import { INHERITED_NAMES } from "@bulkhead/sandbox";
import { type MatrixRow, testMatrix } from "./support/permission_matrix.ts";

const ENV = `--allow-env=${INHERITED_NAMES.join(",")}`;
const DENO_ENV =
  "--allow-env=DENO_DIR,XDG_CACHE_HOME,SSL_CERT_FILE,NODE_EXTRA_CA_CERTS,HOME";
const from = (names: string): string =>
  `import { ${names} } from "@bulkhead/sandbox";\n`;

/** Every exported function that touches the system, with its least flags. */
export const rows: MatrixRow[] = [
  {
    entry: "sandbox run()",
    code: from("run") + 'await run(["true"]);',
    flags: ["--allow-run", ENV],
  },
  {
    entry: "sandbox run({ env })",
    code: from("run") + 'await run(["true"], { env: {}, cwd: "/" });',
    flags: ["--allow-run"],
  },
  {
    entry: "sandbox run({ isolation })",
    code: from("run") +
      'await run(["true"], { env: { PATH: "/usr/bin" }, cwd: "/", isolation: { policy: {} } });',
    flags: [
      "--allow-run",
      "--allow-read",
      "--allow-env=PATH,DENO_DIR,XDG_CACHE_HOME,SSL_CERT_FILE,NODE_EXTRA_CA_CERTS,HOME",
    ],
  },
  {
    entry: "sandbox startProcess()",
    code: from("startProcess") +
      'await using child = await startProcess(["cat"], { stderr: "null" }); await child.stdout.cancel();',
    flags: ["--allow-run", ENV],
  },
  {
    entry: "sandbox probeIsolation()",
    code: from("probeIsolation") + "await probeIsolation();",
    flags: ["--allow-run", "--allow-read", "--allow-env"],
  },
  {
    entry: "sandbox inheritedEnvironment()",
    code: from("inheritedEnvironment") + "inheritedEnvironment();",
    flags: [ENV],
  },
  {
    entry: "sandbox bulkheadHome()",
    code: from("bulkheadHome") + "bulkheadHome();",
    flags: ["--allow-env=BULKHEAD_HOME,XDG_DATA_HOME,HOME"],
  },
  {
    entry: "sandbox denoEntry()",
    code: from("denoEntry") + 'denoEntry("file:///x.ts", { permissions: [] });',
    flags: [DENO_ENV],
  },
  {
    entry: "sandbox writeFileAtomic()",
    code: from("writeFileAtomic") + 'await writeFileAtomic(`${DIR}/f`, "x");',
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
  },
  {
    entry: "sandbox temporaryDirectory()",
    code: from("temporaryDirectory") +
      'await temporaryDirectory({ prefix: "t-", dir: DIR });',
    flags: ["--allow-write={DIR}"],
  },
  {
    entry: "sandbox withFileLock()",
    code: from("withFileLock") +
      "await withFileLock(`${DIR}/l`, () => Promise.resolve());",
    flags: ["--allow-read={DIR}/l", "--allow-write={DIR}/l"],
  },
  {
    entry: "sandbox readTextCapped()",
    code: from("readTextCapped") +
      "await readTextCapped(`${DIR}/row.ts`, 9999);",
    flags: ["--allow-read={DIR}/row.ts"],
  },
  {
    entry: "sandbox readJsonFile()",
    code: from("readJsonFile") + "await readJsonFile(`${DIR}/j`);",
    flags: ["--allow-read={DIR}/j"],
    prepare: (dir) => Deno.writeTextFile(`${dir}/j`, "{}"),
  },
  {
    entry: "sandbox ensurePrivateDir()",
    code: from("ensurePrivateDir") + "await ensurePrivateDir(`${DIR}/d`);",
    flags: ["--allow-read={DIR}/d", "--allow-write={DIR}/d"],
  },
  {
    entry: "sandbox resolveTarget()",
    code: from("resolveTarget") + 'resolveTarget("x", DIR);',
    flags: ["--allow-read"],
  },
  {
    entry: "sandbox isolate()",
    code: from("isolate") +
      'await isolate(["true"], { policy: {}, cwd: "/", env: {} });',
    flags: ["--allow-run", "--allow-read", "--allow-env"],
  },
];

testMatrix(rows);
