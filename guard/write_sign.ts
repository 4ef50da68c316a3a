/**
 * The fall-back for commands that cannot be read: too large, too deep, or malformed.
 *
 * @module
 */
import type { Effect } from "./effect.ts";

const WRITE_VERB =
  /(?:^|[\s;&|()`{"'/])(?:rm|rmdir|unlink|shred|mv|cp|ln|dd|tee|touch|mkdir|mkfifo|mknod|install|truncate|rsync|chmod|chown|chgrp|patch|tar|unzip|sponge|Remove-Item|Set-Content|Add-Content|Out-File|New-Item|Copy-Item|Move-Item)(?:[\s;&|)`}"']|$)/;

/** Programs that may write without a redirection or one of those verbs. */
const PROGRAM =
  /(?:^|[\s;&|()`{"'/$])(?:find|fd|git|sed|perl|python[\d.]*|node|deno|bun|ruby|php|lua|g?awk|xargs|parallel|eval|source|(?:ba|z|da|k)?sh|exec|curl|wget|docker|podman|npm|npx|pnpm|yarn|pip[\d.]*|uv|cargo|go|make|cmake|sudo|doas|env|vim?|ex|ed|sqlite3|psql|crontab|systemctl|apt|apt-get|brew|kubectl|aws|scp|zip|7z|gpg|openssl|ssh-keygen|split|sort|bulkhead)(?=[\s;&|)`}"']|$)/;

/** Redirections that open no file: descriptor copies, and output thrown away. */
const HARMLESS_REDIRECT =
  /(?:\d*|&)>{1,2}&?\s*(?:\d+|-|\/dev\/(?:null|stdout|stderr))(?![\w./-])/g;

/**
 * Whether a text that cannot be read as commands looks as if it wrote something.
 *
 * @param text The command text.
 * @returns `true` when it holds an output redirection or a verb that writes.
 */
export function hasWriteSign(text: string): boolean {
  return WRITE_VERB.test(text) ||
    text.replace(HARMLESS_REDIRECT, " ").includes(">");
}

/**
 * Whether a text that was not looked at to its end may hold a write all the same. Nobody writes
 * so long a command for a single read, so more than the plain signs count.
 *
 * @param text The command text.
 * @returns `true` when it holds a sign of a write, or a program that may write.
 */
export function mayWrite(text: string): boolean {
  return hasWriteSign(text) || PROGRAM.test(text);
}

/**
 * The effect of a command that cannot be read and looks as if it wrote.
 *
 * @param verb What could not be read.
 * @returns A denied effect.
 */
export function unreadable(verb: string): Effect {
  return {
    rule: "unreadable",
    verb,
    path: "",
    verdict: "refused",
    label: "command that cannot be read and may write",
  };
}
