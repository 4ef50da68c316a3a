import { VOCABULARIES } from "../vocabulary.ts";
import type { ToolNames } from "./types.ts";

/** A harness's tool names, as the arbiter's vocabulary has them. */
export function toolsOf(label: string): ToolNames {
  const names = VOCABULARIES[label] ?? {};
  return {
    write: names.write ?? [],
    patch: names.patch ?? [],
    shell: names.shell ?? [],
    read: names.read ?? [],
  };
}
