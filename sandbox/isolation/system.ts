import { isInside } from "../paths.ts";

/** Directories with programs and libraries, readable in every profile. */
export const SYSTEM_DIRS: readonly string[] = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/nix/store",
  "/run/current-system",
];

/** The part of `/etc` that programs need to start, and that holds no secret. */
const SYSTEM_FILES: readonly string[] = [
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/ld-musl-x86_64.path",
  "/etc/alternatives",
  "/etc/nsswitch.conf",
  "/etc/hosts",
  "/etc/services",
  "/etc/protocols",
  "/etc/host.conf",
  "/etc/gai.conf",
  "/etc/localtime",
  "/etc/timezone",
  "/etc/locale.alias",
  "/etc/mime.types",
  "/etc/magic",
  "/etc/terminfo",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/ca-certificates",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust",
  "/etc/crypto-policies",
  "/etc/python3",
  "/etc/perl",
  "/etc/java-17-openjdk",
];

/** Needed only to find hosts. */
const NETWORK_FILES: readonly string[] = ["/etc/resolv.conf"];

/** Who has an account here. */
const ACCOUNT_FILES: readonly string[] = ["/etc/passwd", "/etc/group"];

/**
 * The system's own files that a call may read.
 *
 * @param paths What the call may touch.
 * @returns Absolute paths; some may not exist.
 */
export function systemFiles(
  paths: { net: boolean; accounts: boolean },
): string[] {
  return [
    ...SYSTEM_FILES,
    ...paths.net ? NETWORK_FILES : [],
    ...paths.accounts ? ACCOUNT_FILES : [],
  ];
}

/**
 * Whether a path lies where every call may read.
 *
 * @param path An absolute path.
 * @returns True below one of the {@linkcode SYSTEM_DIRS}.
 */
export function isSystem(path: string): boolean {
  return SYSTEM_DIRS.some((dir) => isInside(path, dir));
}
