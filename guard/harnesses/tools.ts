import { VOCABULARIES } from "../vocabulary.ts";
import { SPEECH } from "./speech.ts";
import type { HarnessDescriptor, ToolNames } from "./types.ts";

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

/** The parts of a descriptor that the hook process has a hand in. */
export function hotParts(
  label: string,
): Pick<HarnessDescriptor, "label" | "speech" | "tools"> {
  return { label, speech: SPEECH[label], tools: toolsOf(label) };
}
