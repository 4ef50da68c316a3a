/**
 * Confines itself with Landlock and a system call filter, then becomes the program:
 * `landlock_exec.ts RULES -- ARGV…`, or `--probe` to print the kernel's version of
 * Landlock. Everything is done by system calls on the main thread, since both
 * restrictions hold for the calling thread and what it executes.
 *
 * Sources of the numbers: linux/landlock.h, landlock(7), seccomp(2), and the two
 * machines' system call tables.
 *
 * @module
 */

import type { LandlockRules } from "./landlock.ts";

const SYS = Deno.build.arch === "x86_64"
  ? { audit: 0xc000003e, socket: 41, ioUring: 425, x32: 0x40000000 }
  : { audit: 0xc00000b7, socket: 198, ioUring: 425, x32: 0 };
const SYS_LANDLOCK_CREATE_RULESET = 444n;
const SYS_LANDLOCK_ADD_RULE = 445n;
const SYS_LANDLOCK_RESTRICT_SELF = 446n;
const PR_SET_SECCOMP = 22;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_MODE_FILTER = 2n;
const O_PATH_CLOEXEC = 0o10000000 | 0o2000000;

/** Access rights of files by bit; later kernels know more of them. */
const EXECUTE = 1n << 0n;
const WRITE_FILE = 1n << 1n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
const TRUNCATE = 1n << 14n;
const IOCTL_DEV = 1n << 15n;
const READ = EXECUTE | READ_FILE | READ_DIR;
/** Rights that make sense for something that is not a directory. */
const FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

/** All rights that a version of Landlock handles. */
function handledRights(abi: number): bigint {
  const bits = abi >= 5 ? 16n : abi >= 3 ? 15n : abi === 2 ? 14n : 13n;
  return (1n << bits) - 1n;
}

const libc = Deno.dlopen("libc.so.6", {
  syscall: {
    parameters: ["i64", "i64", "i64", "i64", "i64"],
    result: "i64",
  },
  prctl: { parameters: ["i32", "u64", "u64", "u64", "u64"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  execvp: { parameters: ["buffer", "buffer"], result: "i32" },
  // glibc's errno is per thread, and so is our use of it.
  __errno_location: { parameters: [], result: "pointer" },
});

function fail(what: string): never {
  const location = libc.symbols.__errno_location();
  const errno = location === null
    ? 0
    : new Deno.UnsafePointerView(location).getInt32();
  const text = `landlock: ${what} failed (errno ${errno})\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  Deno.exit(126);
}

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text + "\0");
}

function address(bytes: BufferSource): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
}

function syscall(number: bigint, ...args: bigint[]): bigint {
  const [a = 0n, b = 0n, c = 0n, d = 0n] = args;
  return libc.symbols.syscall(number, a, b, c, d);
}

/** The version of Landlock in this kernel; negative when there is none. */
function landlockAbi(): number {
  return Number(syscall(SYS_LANDLOCK_CREATE_RULESET, 0n, 0n, 1n));
}

function addPath(ruleset: bigint, path: string, rights: bigint): void {
  const fd = libc.symbols.open(cString(path), O_PATH_CLOEXEC);
  // What does not exist needs no rule.
  if (fd < 0) return;
  let isDirectory = false;
  try {
    isDirectory = Deno.statSync(path).isDirectory;
  } catch {
    // Treated as a file.
  }
  // struct landlock_path_beneath_attr { u64 allowed_access; s32 parent_fd; } packed
  const rule = new DataView(new ArrayBuffer(12));
  rule.setBigUint64(0, isDirectory ? rights : rights & FILE_ONLY, true);
  rule.setInt32(8, fd, true);
  if (
    syscall(SYS_LANDLOCK_ADD_RULE, ruleset, 1n, address(rule), 0n) < 0n
  ) fail(`adding the rule for "${path}"`);
}

function restrictFiles(abi: number, rules: LandlockRules): void {
  const handled = handledRights(abi);
  // struct landlock_ruleset_attr { u64 fs; u64 net; u64 scoped; }
  const attributes = new BigUint64Array(3);
  attributes[0] = handled;
  attributes[1] = abi >= 4 && !rules.net ? 0b11n : 0n;
  // Abstract unix sockets and signals to processes outside.
  attributes[2] = abi >= 6 ? (rules.unixSockets ? 0b10n : 0b11n) : 0n;
  const size = abi >= 6 ? 24n : abi >= 4 ? 16n : 8n;
  const ruleset = syscall(
    SYS_LANDLOCK_CREATE_RULESET,
    address(attributes),
    size,
    0n,
  );
  if (ruleset < 0n) fail("creating the rule set");
  for (const path of rules.read) addPath(ruleset, path, READ & handled);
  for (const path of rules.write) addPath(ruleset, path, handled);
  if (syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0n) < 0n) {
    fail("confining the process");
  }
}

/**
 * Refuses new sockets, which Landlock covers for TCP only, and io_uring, which
 * would make them past this filter.
 */
function restrictSockets(allowUnix: boolean): void {
  const load = (offset: number): number[] => [0x20, 0, 0, offset];
  const ifEqual = (value: number, yes: number, no: number): number[] => [
    0x15,
    yes,
    no,
    value,
  ];
  const ALLOW = [0x06, 0, 0, 0x7fff0000];
  const REFUSE = [0x06, 0, 0, 0x00050000 | 13 /* EACCES */];
  const AF_UNIX = 1;
  const AF_NETLINK = 16;
  // struct seccomp_data { int nr; u32 arch; u64 ip; u64 args[6]; }
  const program = [
    load(4),
    ifEqual(SYS.audit, 1, 0),
    REFUSE,
    load(0),
    ...SYS.x32 ? [[0x35, 0, 1, SYS.x32], REFUSE] : [],
    ifEqual(SYS.ioUring, 0, 1),
    REFUSE,
    ifEqual(SYS.socket, 1, 0),
    ALLOW,
    load(16),
    ifEqual(AF_NETLINK, 0, 1),
    ALLOW,
    ifEqual(allowUnix ? AF_UNIX : AF_NETLINK, 0, 1),
    ALLOW,
    REFUSE,
  ];
  const code = new DataView(new ArrayBuffer(program.length * 8));
  program.forEach(([op = 0, yes = 0, no = 0, value = 0], index) => {
    code.setUint16(index * 8, op, true);
    code.setUint8(index * 8 + 2, yes);
    code.setUint8(index * 8 + 3, no);
    code.setUint32(index * 8 + 4, value, true);
  });
  // struct sock_fprog { u16 len; sock_filter *filter; }
  const header = new DataView(new ArrayBuffer(16));
  header.setUint16(0, program.length, true);
  header.setBigUint64(8, address(code), true);
  const set = libc.symbols.prctl(
    PR_SET_SECCOMP,
    SECCOMP_MODE_FILTER,
    address(header),
    0n,
    0n,
  );
  if (set !== 0) fail("setting the system call filter");
}

/** Checks what the parent wrote; a launcher that guesses would confine nothing. */
function parseRules(text: string): LandlockRules {
  const value: unknown = JSON.parse(text);
  if (
    typeof value !== "object" || value === null ||
    !("read" in value) || !isStrings(value.read) ||
    !("write" in value) || !isStrings(value.write) ||
    !("net" in value) || typeof value.net !== "boolean" ||
    !("unixSockets" in value) || typeof value.unixSockets !== "boolean"
  ) {
    throw new TypeError("landlock: the rules have the wrong shape");
  }
  const { read, write, net, unixSockets } = value;
  return { read, write, net, unixSockets };
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) &&
    value.every((entry) => typeof entry === "string");
}

function main(args: string[]): void {
  const abi = landlockAbi();
  if (abi < 1) fail("looking for Landlock");
  if (args[0] === "--probe") {
    Deno.stdout.writeSync(new TextEncoder().encode(`${abi}\n`));
    return;
  }
  const [text = "", separator, ...argv] = args;
  if (separator !== "--" || argv.length === 0) {
    throw new TypeError("landlock: usage: landlock_exec.ts RULES -- ARGV…");
  }
  const rules = parseRules(text);
  // Kept alive until the program takes over: execvp reads them.
  const strings = argv.map(cString);
  const pointers = new BigUint64Array(argv.length + 1);
  strings.forEach((string, index) => pointers[index] = address(string));
  if (libc.symbols.prctl(PR_SET_NO_NEW_PRIVS, 1n, 0n, 0n, 0n) !== 0) {
    fail("giving up new privileges");
  }
  restrictFiles(abi, rules);
  if (!rules.net) restrictSockets(rules.unixSockets);
  const [program] = strings;
  if (program) libc.symbols.execvp(program, pointers);
  fail(`starting "${argv[0]}"`);
}

if (import.meta.main) main(Deno.args);
