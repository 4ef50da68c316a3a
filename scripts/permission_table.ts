// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/permission_table.ts`: writes `docs/permissions.md` from the
 * rows of the permission tests, so that the table says what is tested. `--check`
 * fails when the file is out of step. Both fail when a command or an exported async
 * function has neither a row nor a reason to have none.
 *
 * @module
 */

import { SUBCOMMANDS } from "../cli/completions.ts";
import { VERBS } from "../cli/help.ts";
import { REASONS } from "../tests/support/permission_reasons.ts";
import { PACKAGES } from "./publish.ts";
import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const FILE = `${ROOT}docs/permissions.md`;

/** What a row of any of the matrices has. */
interface Row {
  entry: string;
  flags: readonly string[];
}

/** The headings, by the name of the test file, in this order. */
const AREAS: Record<string, string> = {
  cli: "Commands",
  sandbox: "@bulkhead/sandbox",
  plugins: "@bulkhead/plugins",
  guard: "@bulkhead/guard",
  worker: "@bulkhead/worker",
  fleet: "@bulkhead/worker/fleet",
  abi: "@bulkhead/abi",
};

const HEAD = `# Permissions

What each command and each exported function needs, as flags of \`deno run\`. With
all of them it works; without any one of them it says which is missing: a
function by a \`PermissionRequiredError\` whose \`flag\` names it, a command by one
line and exit code 1. \`DIR\` stands for the directory that is worked in.

\`bulkhead run\` with a real agent needs \`-A\`: the agent writes and reaches what it
wants, and is judged call by call. What \`run\`, \`plugins call\` and \`abi call\` start
has its own, smaller set.

This page is written from the rows of \`tests/*_permissions_slow_test.ts\` by
\`deno run -A scripts/permission_table.ts\`, which fails when a command or an
exported async function has neither a row nor a reason below.
`;

async function rowsOf(area: string): Promise<Row[]> {
  const file = new URL(
    `../tests/${area}_permissions_slow_test.ts`,
    import.meta.url,
  );
  const { rows }: { rows: Row[] } = await import(file.href);
  return rows;
}

/** The commands and the exported async functions, by the names that rows have. */
async function entries(): Promise<string[]> {
  const commands = VERBS.flatMap((verb) => {
    const words = verb === "completions" ? undefined : SUBCOMMANDS[verb];
    return words?.split(" ").map((word) => `bulkhead ${verb} ${word}`) ??
      [`bulkhead ${verb}`];
  });
  const areaOf = new Map<string, string>();
  for (const folder of PACKAGES) {
    const text = await Deno.readTextFile(`${ROOT}${folder}/deno.json`);
    const { exports }: { exports: Record<string, string> } = JSON.parse(text);
    for (const [name, file] of Object.entries(exports)) {
      const area = folder === "."
        ? "bulkhead"
        : name.startsWith("./fleet")
        ? "fleet"
        : folder;
      areaOf.set(new URL(`../${folder}/${file}`, import.meta.url).href, area);
    }
  }
  const functions: string[] = [];
  for (const [file, { symbols }] of Object.entries(await docOf(areaOf))) {
    for (const { name, declarations } of symbols) {
      if (declarations.some(isAsync)) {
        functions.push(`${areaOf.get(file)} ${name}()`);
      }
    }
  }
  return [...new Set([...commands, ...functions])];
}

/** What `deno doc --json` tells of a declaration, as far as it is looked at here. */
interface Declaration {
  kind: string;
  def?: { isAsync?: boolean; returnType?: { repr?: string } };
}

type Documented = Record<
  string,
  { symbols: { name: string; declarations: Declaration[] }[] }
>;

async function docOf(files: ReadonlyMap<string, string>): Promise<Documented> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...files.keys()],
    cwd: ROOT,
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot read the documentation");
  const { nodes }: { nodes: Documented } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  return nodes;
}

function isAsync({ kind, def }: Declaration): boolean {
  return kind === "function" && (def?.isAsync === true ||
    /^(?:Promise|Async)/.test(def?.returnType?.repr ?? ""));
}

/** What has neither a row nor a reason, and reasons for what is not there. */
async function problems(rows: readonly Row[]): Promise<string[]> {
  const known = await entries();
  const tested = rows.map(({ entry }) => entry.replace(/^(\w+):/, "$1"));
  const covered = (name: string): boolean =>
    tested.some((entry) =>
      entry === name || entry.startsWith(`${name} `) ||
      (name.endsWith("()") && entry.startsWith(name.slice(0, -1)))
    );
  return [
    ...known.filter((name) => !covered(name) && !(name in REASONS))
      .map((name) => `${name} has neither a row nor a reason`),
    ...Object.keys(REASONS).filter((name) => !known.includes(name))
      .map((name) => `${name} has a reason and is not there`),
  ];
}

function cell(text: string): string {
  return text.replaceAll("{DIR}", "DIR").replaceAll("|", "\\|");
}

/** The page. */
async function permissionPage(
  rows: ReadonlyMap<string, readonly Row[]>,
): Promise<string> {
  const parts = [HEAD];
  for (const [area, title] of Object.entries(AREAS)) {
    const lines = (rows.get(area) ?? []).map(({ entry, flags }) => {
      const name = entry.replace(RegExp(`^${area}:? `), "");
      const needed = flags.map((flag) => `\`${cell(flag)}\``).join(" ");
      return `| \`${cell(name)}\` | ${needed || "nothing"} |`;
    });
    parts.push(
      `## ${title}\n`,
      `| what | needs |\n| --- | --- |\n${lines.join("\n")}\n`,
    );
  }
  const reasons = Object.entries(REASONS).map(([name, why]) =>
    `| \`${cell(name)}\` | ${cell(why)} |`
  );
  parts.push(
    "## Without a row\n",
    `| what | why |\n| --- | --- |\n${reasons.join("\n")}\n`,
  );
  return await formatted(parts.join("\n"));
}

async function formatted(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext=md", "-"],
    cwd: ROOT,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("Cannot format the table");
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  const rows = new Map<string, Row[]>();
  for (const area of Object.keys(AREAS)) rows.set(area, await rowsOf(area));
  const wrong = await problems([...rows.values()].flat());
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) Deno.exit(1);
  const page = await permissionPage(rows);
  if (!Deno.args.includes("--check")) {
    await Deno.writeTextFile(FILE, page);
    console.log("wrote docs/permissions.md");
  } else if (await Deno.readTextFile(FILE).catch(() => "") === page) {
    console.log("ok docs/permissions.md");
  } else {
    console.error(
      "docs/permissions.md is out of step with the tests; run: deno run -A scripts/permission_table.ts",
    );
    Deno.exit(1);
  }
}
