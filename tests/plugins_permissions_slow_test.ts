import {
  defaultConfig,
  installPlugin,
  scaffoldPlugin,
} from "@bulkhead/plugins";
import { type MatrixRow, testMatrix } from "./support/permission_matrix.ts";

const from = (names: string): string =>
  `import { ${names} } from "@bulkhead/plugins";\n`;
const HOME_ENV = "--allow-env=HOME";
const CONFIG = {
  ...defaultConfig(),
  enabled: true,
  sandbox: "off",
  trust: { enabled: true, default: "always" },
};
const PLACES = "home: `${DIR}/home`, workspace: DIR";
const LOAD = `const outcome = await loadPlugins({ config: ${
  JSON.stringify(CONFIG)
}, ${PLACES} });\n`;

/** Makes a plugin to install, and installs it when asked to. */
function plugin(installed = true): (dir: string) => Promise<void> {
  return async (dir) => {
    await scaffoldPlugin(`${dir}/demo`, { language: "shell" });
    await Deno.writeTextFile(
      `${dir}/demo/plugin.toml`,
      (await Deno.readTextFile(`${dir}/demo/plugin.toml`)) +
        '\n[[hooks]]\nevent = "stop"\ncommand = "true"\n',
    );
    if (installed) {
      await installPlugin(`${dir}/demo`, {
        home: `${dir}/home`,
        sandbox: "off",
        ask: () => "always",
      });
    }
  };
}

/** Every exported function that touches the system, with its least flags. */
export const rows: MatrixRow[] = [
  {
    entry: "plugins loadConfig()",
    code: from("loadConfig") +
      "await loadConfig({ home: `${DIR}/home`, workspace: DIR });",
    flags: ["--allow-read={DIR}", HOME_ENV],
  },
  {
    entry: "plugins discoverPlugins()",
    code: from("discoverPlugins") +
      "await discoverPlugins([`${DIR}/home/plugins`]);",
    flags: ["--allow-read={DIR}"],
    prepare: plugin(),
  },
  {
    entry: "plugins readPlugin()",
    code: from("readPlugin") + "await readPlugin(`${DIR}/demo`);",
    flags: ["--allow-read={DIR}"],
    prepare: plugin(false),
  },
  {
    entry: "plugins loadPlugins()",
    code: from("loadPlugins") + LOAD,
    flags: ["--allow-read"],
    prepare: plugin(),
  },
  {
    entry: "plugins Tool.execute()",
    code: from("loadPlugins") + LOAD +
      'const result = await outcome.tools[0].execute({ name: "Ada" }); if (result.isError) throw new Error(JSON.stringify(result));',
    flags: ["--allow-read", "--allow-write", "--allow-run", "--allow-env"],
    prepare: plugin(),
  },
  {
    entry: "plugins fireHooks()",
    code: from("fireHooks, loadPlugins") + LOAD +
      'const said = await fireHooks(outcome.hooks, "stop", { payload: { session_id: "s", cwd: DIR, workspace: DIR } });' +
      "if (said.reports[0].failure) throw new Error(said.reports[0].failure);",
    flags: ["--allow-read", "--allow-write", "--allow-run", "--allow-env"],
    prepare: plugin(),
  },
  {
    entry: "plugins TrustStore.get()",
    code: from("TrustStore") + 'await new TrustStore(`${DIR}/home`).get("/x");',
    flags: ["--allow-read={DIR}"],
    prepare: plugin(),
  },
  {
    entry: "plugins TrustStore.remove()",
    code: from("TrustStore") +
      'await new TrustStore(`${DIR}/home`).remove("/x");',
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
    prepare: plugin(),
  },
  {
    entry: "plugins scaffoldPlugin()",
    code: from("scaffoldPlugin") +
      "await scaffoldPlugin(`${DIR}/p${crypto.randomUUID().slice(0, 8)}`);",
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
  },
  {
    entry: "plugins installPlugin() of a directory, sandbox off",
    code: from("installPlugin") +
      'await installPlugin(`${DIR}/demo`, { home: `${DIR}/home`, sandbox: "off", ask: () => "always" });',
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
    prepare: plugin(false),
  },
  {
    entry: "plugins installPlugin() of a git commit",
    code: from("installPlugin") +
      'await installPlugin(`git+file://${DIR}/none#${"a".repeat(40)}`, { home: `${DIR}/home` }).catch((error) => { if (error.code !== "git_failed") throw error; });',
    flags: [
      "--allow-read={DIR}",
      "--allow-write={DIR}",
      "--allow-run",
      "--allow-env",
    ],
  },
  {
    entry: "plugins updatePlugin()",
    code: from("updatePlugin") +
      'await updatePlugin("demo", { home: `${DIR}/home` });',
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
    prepare: plugin(),
  },
  {
    entry: "plugins removePlugin()",
    code: from("removePlugin") +
      'await removePlugin("demo", { home: `${DIR}/home` }).catch((error) => { if (error.code !== "not_installed") throw error; });',
    flags: ["--allow-read={DIR}", "--allow-write={DIR}"],
    prepare: plugin(),
  },
  {
    entry: "plugins installedPlugins()",
    code: from("installedPlugins") +
      "await installedPlugins({ home: `${DIR}/home` });",
    flags: ["--allow-read={DIR}"],
    prepare: plugin(),
  },
  {
    entry: "plugins repairInstalls() with nothing to repair",
    code: from("repairInstalls") +
      "await repairInstalls({ home: `${DIR}/home` });",
    flags: ["--allow-read={DIR}"],
  },
  {
    entry: "plugins checkPlugin()",
    code: from("checkPlugin") +
      "await checkPlugin(`${DIR}/demo`, { home: `${DIR}/home`, workspace: DIR });",
    flags: ["--allow-read"],
    prepare: plugin(false),
  },
  {
    entry: "plugins checkPlugins()",
    code: from("checkPlugins") +
      "await checkPlugins({ home: `${DIR}/home`, workspace: DIR });",
    flags: ["--allow-read", "--allow-env", "--allow-run"],
    prepare: plugin(),
  },
  {
    entry: "plugins serveTools()",
    code: 'import { serveTools } from "@bulkhead/plugins/serve";\n' +
      "await serveTools([], { input: new Blob([]).stream(), output: new WritableStream() });",
    flags: [],
  },
  {
    entry: "plugins pluginsCommand(--help)",
    code:
      'import { pluginsCommand } from "@bulkhead/plugins/cli";\nimport { processIo } from "@bulkhead/sandbox/command";\n' +
      'await pluginsCommand(["--help"], { ...processIo(), out() {} });',
    flags: [],
  },
  {
    entry: "plugins digestPlugin()",
    code: from("digestPlugin") + "await digestPlugin(`${DIR}/demo`);",
    flags: ["--allow-read={DIR}"],
    prepare: plugin(false),
  },
  {
    entry: "plugins questionFor()",
    code: from("questionFor, readPlugin") +
      'await questionFor(await readPlugin(`${DIR}/demo`), { sandbox: "required" });',
    flags: ["--allow-read", "--allow-run", "--allow-env"],
    prepare: plugin(false),
  },
  {
    entry: "plugins openMcpSession()",
    code: 'import { openMcpSession } from "@bulkhead/plugins/serve";\n' +
      "await openMcpSession([], { send() {} });",
    flags: [],
  },
];

testMatrix(rows);
