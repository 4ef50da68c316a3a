/**
 * A strict reader of tar archives: POSIX ustar with pax and GNU long names, nothing else.
 *
 * @module
 */
import { InstallError } from "./_install_error.ts";
import { quoteWhole } from "./_text.ts";
import { checkEntryPath, type TreeEntry } from "./_tree.ts";

const BLOCK = 512;
/** The largest extended header: names and a few numbers fit in it many times over. */
const MAX_EXTENDED = 65_536;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The kinds that are refused, by type flag. */
const REFUSED: Record<string, string> = {
  "1": "hard link",
  "3": "character device",
  "4": "block device",
  "6": "named pipe",
  "S": "sparse file",
  "M": "continuation of another volume",
};

/**
 * Reads a tar archive.
 *
 * @param bytes The archive, not compressed.
 * @param maxEntries More entries than this are refused.
 * @returns Its entries in order; file bytes are views into `bytes`.
 * @throws {InstallError} When the archive is damaged or holds what a plugin may not bring.
 */
export function readTar(bytes: Uint8Array, maxEntries: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  let extended: Record<string, string> = {};
  let seen = 0;
  let ended = false;
  let at = 0;
  while (at < bytes.length) {
    if (at + BLOCK > bytes.length) throw damaged("it ends inside a header");
    const header = bytes.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) {
      if (bytes.subarray(at).some((byte) => byte !== 0)) {
        throw damaged("it goes on after its end mark");
      }
      ended = true;
      break;
    }
    checkSum(header);
    if (++seen > 2 * maxEntries) {
      throw new InstallError(
        "too_large",
        "Cannot read the archive: it has too many entries",
      );
    }
    const type = String.fromCharCode(header[156] ?? 0);
    const size = extended.size === undefined
      ? readNumber(header, 124, 12)
      : decimal(extended.size);
    const start = at + BLOCK;
    if (start + size > bytes.length) {
      throw damaged("an entry is longer than the archive");
    }
    const data = bytes.subarray(start, start + size);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
    if (type === "x" || type === "L" || type === "K") {
      extended = { ...extended, ...readExtended(type, data) };
      continue;
    }
    if (type === "g") {
      if ("path" in readExtended("x", data)) {
        throw damaged("a global header names a path");
      }
      continue;
    }
    if ((type === "2" || type === "5") && size !== 0) {
      throw damaged("a link or folder has content");
    }
    const entry = toEntry(header, type, extended, data);
    extended = {};
    if (entry !== null) entries.push(entry);
    if (entries.length > maxEntries) {
      throw new InstallError(
        "too_large",
        `Cannot read the archive: it has more than ${maxEntries} entries`,
      );
    }
  }
  if (Object.keys(extended).length > 0) {
    throw damaged("it ends after an extended header");
  }
  if (!ended) throw damaged("it has no end mark");
  return entries;
}

function toEntry(
  header: Uint8Array,
  type: string,
  extended: Record<string, string>,
  data: Uint8Array,
): TreeEntry | null {
  const raw = extended.path ?? ustarName(header);
  if (REFUSED[type] !== undefined) {
    throw new InstallError(
      "unsafe_entry",
      `Cannot install: the entry ${quoteWhole(raw)} is a ${REFUSED[type]}`,
    );
  }
  const path = checkEntryPath(raw);
  const executable = (readNumber(header, 100, 8) & 0o111) !== 0;
  switch (type) {
    case "0":
    case "\0":
    case "7":
      // A name that ends in "/" with an old type flag is a directory.
      if (raw.endsWith("/")) return directory(path);
      if (path === "") throw damaged("a file has no name");
      return { path, kind: "file", executable, size: data.length, bytes: data };
    case "5":
      return directory(path);
    case "2":
      return {
        path,
        kind: "link",
        executable: false,
        size: 0,
        target: extended.linkpath ?? readString(header, 157, 100),
      };
    default:
      throw damaged(
        `the entry ${quoteWhole(raw)} has the unknown type ${quoteWhole(type)}`,
      );
  }
}

function directory(path: string): TreeEntry | null {
  return path === ""
    ? null
    : { path, kind: "directory", executable: false, size: 0 };
}

function ustarName(header: Uint8Array): string {
  const name = readString(header, 0, 100);
  const posix = readString(header, 257, 6) === "ustar" && header[263] === 0x30;
  const prefix = posix ? readString(header, 345, 155) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Reads `LENGTH KEY=VALUE\n` records, or the one value of a GNU long name. */
function readExtended(type: string, data: Uint8Array): Record<string, string> {
  if (data.length > MAX_EXTENDED) {
    throw damaged("an extended header is too large");
  }
  if (type !== "x") {
    return {
      [type === "L" ? "path" : "linkpath"]: readString(data, 0, data.length),
    };
  }
  const found: Record<string, string> = {};
  let at = 0;
  while (at < data.length) {
    const space = data.indexOf(0x20, at);
    const length = space < 0 ? NaN : decimal(decode(data.subarray(at, space)));
    if (
      !(length > space - at + 1) || at + length > data.length ||
      data[at + length - 1] !== 0x0a
    ) {
      throw damaged("an extended header is malformed");
    }
    const record = decode(data.subarray(space + 1, at + length - 1));
    const equals = record.indexOf("=");
    const key = record.slice(0, equals);
    if (key.startsWith("GNU.sparse")) throw damaged("it holds a sparse file");
    if (key === "path" || key === "linkpath" || key === "size") {
      found[key] = record.slice(equals + 1);
    }
    at += length;
  }
  return found;
}

function checkSum(header: Uint8Array): void {
  let sum = 0;
  for (let index = 0; index < BLOCK; index++) {
    sum += index >= 148 && index < 156 ? 0x20 : header[index] ?? 0;
  }
  if (sum !== readNumber(header, 148, 8)) {
    throw damaged("a header has a wrong checksum");
  }
}

/** An octal field, or base 256 when the first bit is set. */
function readNumber(header: Uint8Array, at: number, length: number): number {
  const first = header[at] ?? 0;
  if ((first & 0x80) !== 0) {
    let value = first & 0x3f;
    if ((first & 0x40) !== 0) throw damaged("a number is negative");
    for (let index = at + 1; index < at + length; index++) {
      value = value * 256 + (header[index] ?? 0);
    }
    if (!Number.isSafeInteger(value)) throw damaged("a number is too large");
    return value;
  }
  const text = readString(header, at, length).trim();
  if (!/^[0-7]*$/.test(text)) throw damaged("a number is not octal");
  return text === "" ? 0 : parseInt(text, 8);
}

function readString(bytes: Uint8Array, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return decode(end < 0 ? field : field.subarray(0, end));
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw damaged("a name is not UTF-8");
  }
}

function decimal(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw damaged("a length is not a number");
  return Number(text);
}

function damaged(problem: string): InstallError {
  return new InstallError(
    "bad_archive",
    `Cannot read the tar archive: ${problem}`,
  );
}
