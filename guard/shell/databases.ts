/**
 * Clients of databases: statements and commands of theirs that write files.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { type Stream, UNKNOWN_STREAM } from "./state.ts";
import { applyTable } from "./verbs.ts";

const sqlite: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-c -s -cmd -separator -nullvalue -newline -init -mmap -vfs -maxsize -pagecache -lookaside",
    writes: "",
    singleDash: true,
  });
  const cmd = read.options.filter(([name]) => /^-(?:c|s|cmd)$/.test(name)).map((
    [, value],
  ) => value ?? "");
  const archive = call.args.findIndex((arg) => /^-A/.test(arg));
  if (archive !== -1) return sqlArchive(call, call.args.slice(archive));
  const [database, ...statements] = read.operands;
  const text = [...cmd, ...statements, call.stdin.text ?? ""].join("\n");
  const readOnly = hasOption(read, "-readonly", "--readonly");
  const changes =
    /\b(?:insert|update|delete|create|drop|alter|replace|vacuum(?!\s+into)|reindex)\b|^\s*\.(?:import|restore|read)\b/im
      .test(text);
  // A script that is fed to it is one that changes something more often than not.
  const fed = statements.length === 0 && cmd.length === 0 &&
    call.stdin.text === undefined;
  if (
    database !== undefined && (changes || fed) && !readOnly &&
    database !== ":memory:"
  ) {
    writes(call, database.replace(/^file:([^?]*).*$/, "$1"));
  }
  const outputs = text.matchAll(
    /(?:^|\n)\s*\.(?:output|once|backup|save|log|trace|clone|excel)[^\S\n]+(?:main\s+)?(?:-\w+\s+)*["']?([^\s"';]+)|\b(?:into|export\s+database|copy\b[^;]*?\bto|writefile\s*\()\s*['"]([^'"]+)['"]/gi,
  );
  for (const match of outputs) {
    const path = match[1] ?? match[2] ?? "";
    if (path !== "" && !/^(?:stdout|off|on|stderr)$/.test(path)) {
      writes(call, path);
    }
  }
  if (changes) {
    const changed = new Set(
      [...text.matchAll(
        /\b(?:into|update|delete\s+from|table|index|view|exists|trigger)\s+["']?(\w+)["']?\./gi,
      )].map(([, alias = ""]) => alias.toLowerCase()),
    );
    for (
      const [, path = "", alias = ""] of text.matchAll(
        /\battach\s+(?:database\s+)?['"]([^'"]+)['"]\s+as\s+["']?(\w+)/gi,
      )
    ) {
      if (changed.has(alias.toLowerCase())) writes(call, path);
    }
  }
  for (const match of text.matchAll(/(?:^|\n)\s*\.(?:shell|system)\s+(.+)/g)) {
    call.context.run.text(match[1] ?? "", call.state.fork(), {});
  }
  for (const match of text.matchAll(/\bedit\s*\([^,]*,\s*'([^']+)'/gi)) {
    call.context.run.text(match[1] ?? "", call.state.fork(), {});
  }
  for (const match of text.matchAll(/(?:^|\n)\s*\.ar(?:chive)?\s+(.+)/g)) {
    sqlArchive(call, (match[1] ?? "").split(/\s+/));
  }
  return UNKNOWN_STREAM;
};

/** `sqlite3 -A`, which packs and unpacks as `tar` does. */
function sqlArchive(call: Call, args: readonly string[]): Stream {
  const [keys = "", ...rest] = args;
  const read = readOptions([keys.replace(/^-A/, "-"), ...rest], {
    takes: "-f -C --file --directory",
  });
  if (hasOption(read, "-x", "--extract")) {
    writes(call, optionValue(read, "-C", "--directory") ?? ".");
  } else if (
    hasOption(read, "-c", "-u", "-i", "-r", "--create", "--update", "--insert")
  ) {
    const file = optionValue(read, "-f", "--file");
    if (file !== undefined) writes(call, file);
  }
  return UNKNOWN_STREAM;
}

const psql: CallReader = (call) => {
  applyTable(call);
  const read = readOptions(call.args, {
    takes:
      "-c -d -f -F -h -o -p -L -P -R -T -U -v --command --dbname --file --output --host --port --username",
  });
  const text = [
    ...read.options.flatMap(([name, value]) =>
      name === "-c" || name === "--command" ? [value ?? ""] : []
    ),
    call.stdin.text ?? "",
  ].join("\n");
  const outputs = text.matchAll(
    /\\(?:o|out|w|write|g|gx)\s+['"]?([^\s'"|\\;]+)|\\?\bcopy\b[^\n]*?\bto\s+['"]?([^\s'";]+)/gi,
  );
  for (const match of outputs) {
    const path = match[1] ?? match[2] ?? "";
    if (path !== "" && !/^(?:p?stdout|program)$/i.test(path)) {
      writes(call, path);
    }
  }
  for (
    const match of text.matchAll(
      /\blo_export\s*\(\s*\d+\s*,\s*'([^']+)'|\bpg_(?:file_write|write_file)\s*\(\s*'([^']+)'/gi,
    )
  ) writes(call, match[1] ?? match[2] ?? "");
  for (const match of text.matchAll(/\\!\s*(.+)|\bprogram\s+'([^']+)'/gi)) {
    call.context.run.text(match[1] ?? match[2] ?? "", call.state.fork(), {});
  }
  return UNKNOWN_STREAM;
};

/** `select … into outfile`, `system`, `\\!` and `tee` of MySQL's client. */
const mysql: CallReader = (call) => {
  applyTable(call);
  const read = readOptions(call.args, {
    takes: "-u -h -P -D -e --user --host --port --database --execute",
  });
  const text = [
    ...read.options.flatMap(([name, value]) =>
      name === "-e" || name === "--execute" ? [value ?? ""] : []
    ),
    call.stdin.text ?? "",
  ].join("\n");
  const outputs = text.matchAll(
    /\binto\s+(?:out|dump)file\s+['"]([^'"]+)['"]|(?:^|\n|;)\s*(?:tee|\\T)\s+(\S+)/gi,
  );
  for (const match of outputs) writes(call, match[1] ?? match[2] ?? "");
  for (const match of text.matchAll(/(?:^|\n|;)\s*(?:system|\\!)\s+(.+)/gi)) {
    call.context.run.text(match[1] ?? "", call.state.fork(), {});
  }
  return UNKNOWN_STREAM;
};

/** The statements of other clients that write a file, wherever among their arguments or input. */
const STATEMENTS =
  /\binto\s+outfile\s+['"]([^'"]+)['"]|\bcopy\b[^;]*?\bto\s+['"]([^'"]+)['"]|\binsert\s+into\s+function\s+file\s*\(\s*['"]([^'"]+)['"]|(?:^|\n)\s*spool\s+(\S+)|\bconfig\s+set\s+dir\s+(\S+)|\bsave\s+table\s+['"]([^'"]+)['"]/gi;

/** A client whose statements are looked through for files. */
const client: CallReader = (call) => {
  applyTable(call);
  const text = [...call.args, call.stdin.text ?? ""].join("\n");
  const words = call.args.join(" ");
  for (const match of `${text}\n${words}`.matchAll(STATEMENTS)) {
    const path = match.slice(1).find((group) => group !== undefined);
    if (path !== undefined && !/^(?:off|stdout)$/i.test(path)) {
      writes(call, path);
    }
  }
  return UNKNOWN_STREAM;
};

/** The programs by name. */
export const DATABASES: Readonly<Record<string, CallReader>> = {
  sqlite3: sqlite,
  sqlite: sqlite,
  duckdb: sqlite,
  psql,
  mysql,
  mariadb: mysql,
  cqlsh: client,
  clickhouse: client,
  "clickhouse-client": client,
  "clickhouse-local": client,
  sqlplus: client,
  "redis-cli": client,
  beeline: client,
  trino: client,
  snowsql: client,
};
