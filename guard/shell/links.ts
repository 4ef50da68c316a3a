/**
 * Links that a command makes, moves and takes away, as far as they change where its later writes
 * lead.
 *
 * @module
 */
import { isKnown } from "../holes.ts";
import type { Call } from "./call.ts";
import { joinPath } from "./places.ts";

/**
 * Whether what is moved to a path replaces a link there, which leads to a file or to nothing.
 *
 * @param call The call that moves it.
 * @param path The path.
 * @returns `true` when it does.
 */
export function replacesLink(call: Call, path: string): boolean {
  const { boundary } = call.context;
  boundary.gone = call.state.gone;
  return call.state.cwd.every((cwd) => {
    const entry = boundary.resolve(path, cwd, false);
    return entry !== undefined && !/\/\.{0,2}$/.test(path) &&
      boundary.isFileLink(entry);
  });
}

/**
 * Notes that a link is taken away, so that what comes to stand there is judged as its own.
 *
 * @param call The call that takes it away.
 * @param path The link.
 */
export function forgetLink(call: Call, path: string): void {
  const { boundary } = call.context;
  const [cwd = "/", ...others] = call.state.cwd;
  boundary.gone = call.state.gone;
  const entry = others.length > 0 || /\/\.{0,2}$/.test(path) || !isKnown(path)
    ? undefined
    : boundary.resolve(path, cwd, false);
  if (entry === undefined) return;
  call.state.gone = new Set([...call.state.gone, entry]);
}

/**
 * Remembers a link, so that later writes of the same command are seen through it.
 *
 * @param call The call that makes it.
 * @param target What it leads to.
 * @param link Where it stands, or the directory it is made in.
 */
export function makeLink(call: Call, target: string, link: string): void {
  const { boundary } = call.context;
  for (const cwd of call.state.cwd) {
    const path = boundary.resolve(link, cwd, false);
    if (path === undefined) continue;
    const isPlace = /(?:^|\/)\.{0,2}$/.test(link) ||
      boundary.isDirectory(path) ||
      boundary.roots.includes(path) || call.state.cwd.includes(path);
    if (!isPlace && call.state.gone.has(path)) {
      call.state.gone = new Set(
        [...call.state.gone].filter((one) => one !== path),
      );
    }
    boundary.links.set(
      isPlace
        ? joinPath(path, target.replace(/\/+$/, "").split("/").at(-1) ?? "")
        : path,
      target,
    );
  }
}

/**
 * What the link at a path says.
 *
 * @param call The call.
 * @param path The path.
 * @returns Its text; `undefined` where no link stands.
 */
export function linkText(call: Call, path: string): string | undefined {
  const { boundary } = call.context;
  const [cwd = "/"] = call.state.cwd;
  boundary.gone = call.state.gone;
  const entry = /(?:^|\/)\.{0,2}$/.test(path) || !isKnown(path)
    ? undefined
    : boundary.resolve(path, cwd, false);
  const text = entry === undefined ? undefined : boundary.linkAt(entry);
  return typeof text === "string" ? text : undefined;
}

/**
 * Remembers a link that is moved or copied as it is.
 *
 * @param call The call.
 * @param text What the link says.
 * @param source Where it stood.
 * @param destination Its new path, or the directory it is put in.
 */
export function carryLink(
  call: Call,
  text: string,
  source: string,
  destination: string,
): void {
  const { boundary } = call.context;
  const [cwd = "/"] = call.state.cwd;
  const place = boundary.resolve(destination, cwd, true);
  const name = source.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const inside = destination.endsWith("/") ||
    place !== undefined && boundary.isDirectory(place);
  makeLink(call, text, inside ? joinPath(destination, name) : destination);
}
