/**
 * The small part of YAML that a claim file is written in: one mapping of scalars,
 * and one level of mapping below it. Reads what other writers of the same files
 * produce, writes what they read.
 *
 * @module
 */

/** A value in a claim file. */
export type YamlScalar = string | number | boolean | null;
/** A claim file. */
export type YamlMapping = Map<string, YamlScalar | Map<string, YamlScalar>>;

const PLAIN = /^[A-Za-z0-9_./][A-Za-z0-9_./:@+-]*$/;
const OTHER_TYPES =
  /^(?:null|true|false|yes|no|on|off|y|n|~|[-+]?[0-9][0-9_.,:eExXa-fA-Fo+-]*|[-+]?\.(?:inf|nan)|\.nan)$/i;

/** Writes a mapping; entries that are `undefined` are left out. */
export function writeYaml(
  entries: readonly (readonly [
    string,
    YamlScalar | undefined | Readonly<Record<string, YamlScalar>>,
  ])[],
): string {
  let out = "";
  for (const [key, value] of entries) {
    if (value === undefined) continue;
    if (typeof value !== "object" || value === null) {
      out += `${key}: ${scalar(value)}\n`;
      continue;
    }
    const inner = Object.entries(value);
    out += inner.length === 0 ? `${key}: {}\n` : `${key}:\n`;
    for (const [name, part] of inner) {
      out += `  ${scalar(name)}: ${scalar(part)}\n`;
    }
  }
  return out;
}

function scalar(value: YamlScalar): string {
  if (typeof value !== "string") return String(value);
  const plain = PLAIN.test(value) && !OTHER_TYPES.test(value) &&
    !value.endsWith(":");
  return plain ? value : JSON.stringify(value);
}

/**
 * Reads a mapping.
 *
 * @throws {SyntaxError} Naming the line, when it is anything else.
 */
export function readYaml(text: string): YamlMapping {
  const root: YamlMapping = new Map();
  let key: string | undefined;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trimEnd();
    const body = line.trimStart();
    if (
      body === "" || body.startsWith("#") || line === "---" || line === "..."
    ) continue;
    const fail = (why: string) => new SyntaxError(`line ${index + 1}: ${why}`);
    const indented = line !== body;
    const entry =
      /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#:{}[\]&*!|>%@`,-][^:#]*|[^\s:]+):(?:\s+(.*))?$/
        .exec(body);
    if (!indented) {
      if (entry === null) throw fail("want `key: value`");
      key = String(read(entry[1] ?? "", fail));
      if (root.has(key)) throw fail(`"${key}" stands twice`);
      const value = entry[2]?.trim() ?? "";
      root.set(
        key,
        value === "" || value === "{}" ? new Map() : read(value, fail),
      );
      continue;
    }
    const current = key === undefined ? undefined : root.get(key);
    if (key === undefined || current === undefined) {
      throw fail("indented without a key");
    }
    if (current instanceof Map) {
      if (entry === null) throw fail("want `key: value`");
      current.set(
        String(read(entry[1] ?? "", fail)),
        read(entry[2]?.trim() ?? "", fail),
      );
    } else if (typeof current === "string") {
      root.set(key, `${current} ${body}`); // a long plain text, folded
    } else throw fail("unexpected indentation");
  }
  if (root.size === 0) throw new SyntaxError("there is no mapping in it");
  return root;
}

function read(text: string, fail: (why: string) => Error): YamlScalar {
  if (text.startsWith('"')) {
    const end = /^"(?:[^"\\]|\\.)*"/.exec(text)?.[0];
    if (end === undefined) throw fail("a quoted text has no end");
    try {
      return JSON.parse(end);
    } catch {
      throw fail("a quoted text has an unknown escape");
    }
  }
  if (text.startsWith("'")) {
    const end = /^'(?:[^']|'')*'/.exec(text)?.[0];
    if (end === undefined) throw fail("a quoted text has no end");
    return end.slice(1, -1).replaceAll("''", "'");
  }
  if (/^[[{&*!|>%@`]/.test(text)) {
    throw fail(`cannot read ${text.slice(0, 20)}`);
  }
  const value = text.replace(/\s+#.*$/, "");
  if (/^(?:null|~|)$/i.test(value)) return null;
  if (/^true$/i.test(value)) return true;
  if (/^false$/i.test(value)) return false;
  if (/^[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(value)) return Number(value);
  return value;
}
