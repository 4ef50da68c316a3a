// deno-lint-ignore-file no-console -- a maintainer's command
/**
 * `deno run -A scripts/permission_table.ts`: writes `docs/permissions.md` from the
 * rows of the permission tests, so that the table says what is tested. `--check`
 * fails when the file is out of step.
 *
 * @module
 */

const ROOT = new URL("..", import.meta.url).pathname;
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
  abi: "@bulkhead/abi",
};

const HEAD = `# Permissions

What each command and each exported function needs, as flags of \`deno run\`. With
all of them it works; without any one of them it says which is missing: a
function by a \`PermissionRequiredError\` whose \`flag\` names it, a command by one
line and exit code 1. \`DIR\` stands for the directory that is worked in.

\`bulkhead run\`, \`plugins call\`, \`plugins serve\`, \`worker start\` and
\`guard install\` start programs of others: give them \`-A\`, or the flags of the
functions below. What they start has its own, smaller set.

This page is written from the rows of \`tests/*_permissions_test.ts\` by
\`deno run -A scripts/permission_table.ts\`.
`;

async function rowsOf(area: string): Promise<Row[]> {
  const file = new URL(`../tests/${area}_permissions_test.ts`, import.meta.url);
  const { rows }: { rows: Row[] } = await import(file.href);
  return rows;
}

/** The page. */
export async function permissionPage(): Promise<string> {
  const parts = [HEAD];
  for (const [area, title] of Object.entries(AREAS)) {
    const lines = (await rowsOf(area)).map(({ entry, flags }) => {
      const name = entry.replace(RegExp(`^${area}:? `), "");
      const needed = flags.map((flag) =>
        `\`${flag.replaceAll("{DIR}", "DIR").replaceAll("|", "\\|")}\``
      );
      return `| \`${name.replaceAll("|", "\\|")}\` | ${
        needed.join(" ") || "nothing"
      } |`;
    });
    parts.push(
      `## ${title}\n`,
      `| what | needs |\n| --- | --- |\n${lines.join("\n")}\n`,
    );
  }
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
  const page = await permissionPage();
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
