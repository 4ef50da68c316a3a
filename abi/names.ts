/**
 * Finds what a plugin registered, or says what there is.
 *
 * @module
 */

import type { RegisteredRenderer, RendererKind } from "./registration.ts";

/**
 * The index of something that a plugin registered.
 *
 * @param plugin The plugin's name.
 * @param kind What is looked for.
 * @param list What there is.
 * @param name Its name.
 * @returns The index; throws a `RangeError` that lists what there is.
 */
export function findNamed(
  plugin: string,
  kind: string,
  list: readonly { readonly name: string }[],
  name: string,
): number {
  const index = list.findIndex((entry) => entry.name === name);
  if (index < 0) {
    throw missingName(plugin, kind, name, list.map((entry) => entry.name));
  }
  return index;
}

/**
 * The index of something that is registered by id.
 *
 * @param plugin The plugin's name.
 * @param kind What is looked for.
 * @param list What there is.
 * @param id Its id.
 * @returns The index; throws as {@linkcode findNamed} does.
 */
export function findId(
  plugin: string,
  kind: string,
  list: readonly { readonly id: string }[],
  id: string,
): number {
  return findNamed(plugin, kind, list.map((entry) => ({ name: entry.id })), id);
}

/**
 * The index of a renderer.
 *
 * @param plugin The plugin's name.
 * @param list The renderers there are.
 * @param kind What it renders.
 * @param name Its name.
 * @returns The index; throws as {@linkcode findNamed} does.
 */
export function findRenderer(
  plugin: string,
  list: readonly RegisteredRenderer[],
  kind: RendererKind,
  name: string,
): number {
  const index = list.findIndex((r) => r.kind === kind && r.name === name);
  if (index < 0) {
    throw missingName(
      plugin,
      `${kind} renderer`,
      name,
      list.map((r) => r.name),
    );
  }
  return index;
}

function missingName(
  plugin: string,
  kind: string,
  name: string,
  known: readonly string[],
): RangeError {
  const have = known.length === 0
    ? "it registered none"
    : `it registered ${known.slice(0, 20).map((n) => `"${n}"`).join(", ")}${
      known.length > 20 ? " and others" : ""
    }`;
  return new RangeError(
    `Cannot use ${kind} "${name}" of plugin "${plugin}": ${have}`,
  );
}
