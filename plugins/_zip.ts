/**
 * A strict reader of zip archives: stored and deflated entries, no encryption, no ZIP64, no overlap.
 *
 * The central directory decides and every local header has to agree with it, so that two readers cannot see two
 * different archives.
 *
 * @module
 */
import { inflate } from "./_inflate.ts";
import { InstallError } from "./_install_error.ts";
import { quoteWhole } from "./_text.ts";
import { checkEntryPath, type TreeEntry } from "./_tree.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;

/** What the central directory says of one entry. */
interface CentralEntry {
  name: string;
  method: number;
  flags: number;
  crc: number;
  packed: number;
  size: number;
  offset: number;
  /** The Unix mode, `0` when the archive was not made on Unix. */
  mode: number;
}

/**
 * Reads a zip archive.
 *
 * @param bytes The archive.
 * @param limits The largest number of entries and the largest sum of their sizes.
 * @returns Its entries in the order of the central directory.
 * @throws {InstallError} When the archive is damaged, too large or holds what a plugin may not bring.
 */
export async function readZip(
  bytes: Uint8Array,
  limits: { maxEntries: number; maxBytes: number },
): Promise<TreeEntry[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const central = readCentral(bytes, view, limits.maxEntries);
  const promised = central.reduce((sum, entry) => sum + entry.size, 0);
  if (promised > limits.maxBytes) {
    throw new InstallError(
      "too_large",
      `Cannot read the zip archive: it unpacks to more than ${limits.maxBytes} bytes`,
    );
  }
  const ranges = central.map((entry) => dataRange(bytes, view, entry));
  checkOverlap(central, ranges);
  const entries: TreeEntry[] = [];
  for (const [index, entry] of central.entries()) {
    const [start, end] = ranges[index] ?? [0, 0];
    const found = await toEntry(entry, bytes.subarray(start, end));
    if (found !== null) entries.push(found);
  }
  return entries;
}

async function toEntry(
  entry: CentralEntry,
  packed: Uint8Array,
): Promise<TreeEntry | null> {
  const path = checkEntryPath(entry.name);
  const type = entry.mode & 0o170000;
  if (
    type !== 0 && type !== 0o100000 && type !== 0o040000 && type !== 0o120000
  ) {
    throw new InstallError(
      "unsafe_entry",
      `Cannot install: the entry ${quoteWhole(entry.name)} is a special file`,
    );
  }
  if (entry.name.endsWith("/") || type === 0o040000) {
    if (entry.size !== 0) {
      throw damaged(`the folder ${quoteWhole(entry.name)} has content`);
    }
    return path === ""
      ? null
      : { path, kind: "directory", executable: false, size: 0 };
  }
  if (path === "") throw damaged("a file has no name");
  const data = entry.method === 0
    ? packed
    : await inflate(packed, "deflate-raw", entry.size);
  if (data.length !== entry.size) {
    throw damaged(
      `the entry ${quoteWhole(entry.name)} has another size than stated`,
    );
  }
  if (crc32(data) !== entry.crc) {
    throw damaged(
      `the entry ${quoteWhole(entry.name)} has a wrong checksum`,
    );
  }
  if (type === 0o120000) {
    return {
      path,
      kind: "link",
      executable: false,
      size: 0,
      target: decode(data.subarray(0, 4096)),
    };
  }
  return {
    path,
    kind: "file",
    executable: (entry.mode & 0o111) !== 0,
    size: data.length,
    bytes: data,
  };
}

function readCentral(
  bytes: Uint8Array,
  view: DataView,
  maxEntries: number,
): CentralEntry[] {
  const end = findEnd(bytes, view);
  const count = view.getUint16(end + 10, true);
  const size = view.getUint32(end + 12, true);
  const start = view.getUint32(end + 16, true);
  if (
    view.getUint16(end + 4, true) !== 0 ||
    view.getUint16(end + 8, true) !== count
  ) {
    throw damaged("it spans several disks");
  }
  if (count === 0xffff || size === 0xffffffff || start === 0xffffffff) {
    throw damaged("it is in the ZIP64 form");
  }
  if (start + size !== end) {
    throw damaged("its directory does not end where it should");
  }
  if (count > maxEntries) {
    throw new InstallError(
      "too_large",
      `Cannot read the zip archive: it has more than ${maxEntries} entries`,
    );
  }
  const entries: CentralEntry[] = [];
  let at = start;
  for (let index = 0; index < count; index++) {
    if (at + 46 > end || view.getUint32(at, true) !== CENTRAL) {
      throw damaged("its directory is malformed");
    }
    const nameLength = view.getUint16(at + 28, true);
    const next = at + 46 + nameLength + view.getUint16(at + 30, true) +
      view.getUint16(at + 32, true);
    if (next > end) throw damaged("its directory is malformed");
    const unix = (view.getUint16(at + 4, true) >> 8) === 3;
    const entry: CentralEntry = {
      name: decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      packed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      offset: view.getUint32(at + 42, true),
      mode: unix ? view.getUint32(at + 38, true) >>> 16 : 0,
    };
    if ((entry.flags & 0x41) !== 0) {
      throw damaged(`the entry ${quoteWhole(entry.name)} is encrypted`);
    }
    if (entry.method !== 0 && entry.method !== 8) {
      throw damaged(
        `the entry ${
          quoteWhole(entry.name)
        } has the unknown method ${entry.method}`,
      );
    }
    if (entry.method === 0 && entry.packed !== entry.size) {
      throw damaged(`the entry ${quoteWhole(entry.name)} has two sizes`);
    }
    entries.push(entry);
    at = next;
  }
  if (at !== end) throw damaged("its directory holds more than it counts");
  return entries;
}

/** The end record: the last one whose comment ends with the archive. */
function findEnd(bytes: Uint8Array, view: DataView): number {
  for (
    let at = bytes.length - 22;
    at >= Math.max(0, bytes.length - 22 - 0xffff);
    at--
  ) {
    if (
      view.getUint32(at, true) === END &&
      at + 22 + view.getUint16(at + 20, true) === bytes.length
    ) return at;
  }
  throw damaged("it has no end record");
}

/** Where the data of an entry lies, after its local header has been compared with the directory. */
function dataRange(
  bytes: Uint8Array,
  view: DataView,
  entry: CentralEntry,
): [number, number] {
  const at = entry.offset;
  if (at + 30 > bytes.length || view.getUint32(at, true) !== LOCAL) {
    throw damaged(`the entry ${quoteWhole(entry.name)} has no header`);
  }
  const nameLength = view.getUint16(at + 26, true);
  const start = at + 30 + nameLength + view.getUint16(at + 28, true);
  const end = start + entry.packed;
  const name = bytes.subarray(at + 30, at + 30 + nameLength);
  const same = end <= bytes.length && decode(name) === entry.name &&
    view.getUint16(at + 8, true) === entry.method &&
    ((entry.flags & 8) !== 0 || view.getUint32(at + 18, true) === entry.packed);
  if (!same) {
    throw damaged(
      `the entry ${quoteWhole(entry.name)} is described in two ways`,
    );
  }
  return [start, end];
}

/** Overlapping entries make a small archive unpack to anything. */
function checkOverlap(
  central: CentralEntry[],
  ranges: [number, number][],
): void {
  const spans = central.map((
    entry,
    index,
  ): [number, number] => [entry.offset, ranges[index]?.[1] ?? 0])
    .sort((a, b) => a[0] - b[0]);
  for (let index = 1; index < spans.length; index++) {
    if ((spans[index]?.[0] ?? 0) < (spans[index - 1]?.[1] ?? 0)) {
      throw damaged("its entries overlap");
    }
  }
}

let table: Uint32Array | undefined;

/** The CRC-32 of zip. */
function crc32(bytes: Uint8Array): number {
  if (table === undefined) {
    table = new Uint32Array(256);
    for (let byte = 0; byte < 256; byte++) {
      let value = byte;
      for (let bit = 0; bit < 8; bit++) {
        value = (value & 1) !== 0 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
      }
      table[byte] = value >>> 0;
    }
  }
  let crc = 0xffffffff;
  for (let index = 0; index < bytes.length; index++) {
    crc = (crc >>> 8) ^ (table[(crc ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw damaged("a name is not UTF-8");
  }
}

function damaged(problem: string): InstallError {
  return new InstallError(
    "bad_archive",
    `Cannot read the zip archive: ${problem}`,
  );
}
