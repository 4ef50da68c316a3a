/** Joins path segments and normalises the result. */
export function join(path: string | URL, ...paths: string[]): string;
/** Resolves segments from right to left against the current directory. */
export function resolve(...paths: string[]): string;
/** The directory part of a path. */
export function dirname(path: string | URL): string;
/** The last part of a path, without the suffix if given. */
export function basename(path: string | URL, suffix?: string): string;
/** The extension with its leading dot, or the empty string. */
export function extname(path: string | URL): string;
/** Folds `.` and `..` lexically. */
export function normalize(path: string | URL): string;
/** True for an absolute path. */
export function isAbsolute(path: string): boolean;
/** The relative path from one path to another. */
export function relative(from: string, to: string): string;
/** A path as a `file:` URL. */
export function toFileUrl(path: string): URL;
/** A `file:` URL as a path. */
export function fromFileUrl(url: string | URL): string;
/** The separator of this platform. */
export const SEPARATOR: string;
/** The separator of PATH-like lists on this platform. */
export const DELIMITER: string;
