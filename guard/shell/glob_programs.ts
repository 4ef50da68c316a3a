/**
 * A program that is named by a pattern: `/usr/bin/t[o]uch`, `/???/???/tou??`.
 *
 * @module
 */
import { ANY, isKnown, SEG, SUB } from "../holes.ts";
import { matchesGlob } from "./glob.ts";

/** Programs that write what they are given; a pattern that may mean one of them is read as it. */
const WRITERS =
  ("touch rm rmdir unlink shred mv cp ln dd tee mkdir mkfifo mknod truncate chmod chown chgrp install " +
    "rsync tar unzip patch split csplit sed ed ex vi vim awk gawk sort sponge curl wget git find xargs env sh " +
    "bash dash zsh ksh sudo nohup timeout nice setsid stdbuf busybox python python3 perl ruby node deno")
    .split(" ");

/** Where the system keeps programs; a project's own directories hold its own scripts. */
const SYSTEM_PLACE = /^\/|(?:^|\/)s?bin\/[^/]*$|^[^/]+$/;

/**
 * The programs that a pattern may mean.
 *
 * @param program The command word; what a pattern matches in it is unknown.
 * @returns Their names; none when it is no pattern of a program's name.
 */
export function programsLike(program: string): string[] {
  if (
    program.includes(ANY) || program.includes(SUB) ||
    !SYSTEM_PLACE.test(program)
  ) return [];
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (isKnown(name)) return program.startsWith("/") ? [name] : [];
  const pattern = name.replaceAll(SEG, "*");
  // Nothing but a pattern: a file of the project, unless the place is a system's.
  if (/^\**$/.test(pattern) && !program.startsWith("/")) return [];
  return WRITERS.filter((writer) => matchesGlob(pattern, writer));
}
