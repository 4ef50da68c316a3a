import { assertEquals, assertThrows } from "@std/assert";
import { grantedPolicy } from "./_grants.ts";
import type { PluginHost } from "./_plugin_host.ts";
import type { Permissions } from "./_program.ts";

/** A workspace that holds the Bulkhead home, as somebody has who works in the home directory. */
async function inHome(
  test: (host: PluginHost, grants: (given?: Permissions) => string[]) => void,
): Promise<void> {
  const workspace = await Deno.realPath(await Deno.makeTempDir());
  const home = `${workspace}/.bulkhead`;
  const host: PluginHost = {
    name: "demo",
    dir: `${home}/plugins/demo`,
    home,
    dataDir: `${home}/data/demo`,
    workspace,
    hash: "",
    paths: new Map(),
    startable: new Set(),
    sandbox: "required",
    workspaceAccess: "write",
    path: undefined,
    verify: () => Promise.resolve(""),
    touched: () => new Error(),
  };
  await Deno.mkdir(host.dataDir, { recursive: true });
  await Deno.mkdir(`${workspace}/project`);
  const grants = (permissions?: Permissions): string[] =>
    grantedPolicy(host, {
      program: { kind: "command", command: "true", args: [] },
      timeoutMs: 1,
      env: [],
      ...(permissions === undefined ? {} : { permissions }),
    }, {
      PLUGIN_DIR: host.dir,
      PLUGIN_DATA_DIR: host.dataDir,
      WORKSPACE_DIR: workspace,
    }).write;
  try {
    test(host, grants);
  } finally {
    await Deno.remove(workspace, { recursive: true });
  }
}

Deno.test("a workspace that holds Bulkhead's own files is not writable by default", () =>
  inHome((host, grants) => assertEquals(grants(), [host.dataDir])));

Deno.test("grantedPolicy() lets no plugin write what decides about it", () =>
  inHome((host, grants) => {
    const write = (...paths: string[]) =>
      grants({ read: [], write: paths, net: [] });
    for (
      const path of [
        "${WORKSPACE_DIR}",
        "/",
        host.home,
        `${host.home}/trust.json`,
        `${host.home}/plugins/other`,
        "${PLUGIN_DIR}",
        `${host.home}/data`,
        `${host.home}/data/other`,
        "${WORKSPACE_DIR}/project/../.bulkhead/config.toml",
      ]
    ) assertThrows(() => write(path), TypeError, "own files", path);
    assertEquals(write("${WORKSPACE_DIR}/project", "${PLUGIN_DATA_DIR}/x"), [
      host.dataDir,
      `${host.workspace}/project`,
    ]);
  }));

Deno.test("grantedPolicy() follows a link to Bulkhead's own files", () =>
  inHome((host, grants) => {
    const link = `${host.workspace}/../${crypto.randomUUID()}`;
    Deno.symlinkSync(host.home, link);
    try {
      assertThrows(
        () => grants({ read: [], write: [link], net: [] }),
        TypeError,
        "own files",
      );
    } finally {
      Deno.removeSync(link);
    }
  }));
