/**
 * What a harness is to the guard: where its files lie, what its tools are called, and how its
 * hooks are declared. Data only; the code that reads it stands in the parent directory.
 *
 * @module
 */

import type { HarnessSpeech } from "./speech.ts";

/** Tool names of one harness, by what the tools do. */
export interface ToolNames {
  /** Tools that write the file they name. */
  readonly write: readonly string[];
  /** Tools that apply a patch body. */
  readonly patch: readonly string[];
  /** Tools that run a shell command. */
  readonly shell: readonly string[];
  /** Tools that only read. */
  readonly read: readonly string[];
}

/** One way to declare the hook in a JSON file. */
export interface HookForm {
  /** `compat` is the pinned old form; `current` is what is staged otherwise. */
  readonly mode: "compat" | "current";
  /** The first version of the harness that understands this form; any when absent. */
  readonly since?: string;
  /** The tools the hook is called for, in the harness's own matcher language. */
  readonly matcher: string;
  /** Shell command with `{exe}` and `{marker}`; absent for forms with an argument list. */
  readonly commandTemplate?: string;
  /** JSON text of the entry, with `{matcher}` and `{command}`, or `{exe}` and `{marker}`. */
  readonly hookEntry: string;
}

/** A guard that is one entry in a JSON file of hooks. */
export interface JsonHooksGuard {
  /** The install mechanism. */
  readonly engine: "json-hooks";
  /** The file, relative to the workspace root. */
  readonly hooksFile: string;
  /** The key below `hooks` whose array takes the entry. */
  readonly event: string;
  /** Top-level keys that the file needs besides, as JSON text: added where absent. */
  readonly companions?: string;
  /** Top-level keys that must have this value while armed, as JSON text. */
  readonly switches?: string;
  /** Ways to write the entry, the newest first. */
  readonly forms: readonly HookForm[];
}

/** A guard that is one file of the harness's plugin directory. */
export interface PluginFileGuard {
  /** The install mechanism. The name is the one the first such harness gave it. */
  readonly engine: "opencode-plugin";
  /** The file, relative to the workspace root. */
  readonly pluginFile: string;
  /** The file's text, with `{exe}` and `{marker}` as string literals. */
  readonly plugin: string;
  /** The pinned old text, where there is one. */
  readonly compatPlugin?: string;
}

/** How a harness is guarded. */
export type GuardSection = JsonHooksGuard | PluginFileGuard;

/** One harness. */
export interface HarnessDescriptor {
  /** The name used on the command line. */
  readonly label: string;
  /** The name people use. */
  readonly title: string;
  /** The program that is looked for on `PATH`. */
  readonly program: string;
  /** What the hook process says, and where its marker lies; every guarded harness has one. */
  readonly speech?: HarnessSpeech;
  /** Directories that hold the harness's configuration in a workspace. */
  readonly configDirs: readonly string[];
  /** Tool names. */
  readonly tools: ToolNames;
  /** The guard; only built-in descriptors have one. */
  readonly guard?: GuardSection;
  /** Directories that the harness leaves behind empty; teardown removes those it did not find. */
  readonly emptyLeftovers?: readonly string[];
  /** What the harness itself puts into a directory of its own; it goes when arming made that. */
  readonly ownFiles?: {
    /** The directory. */
    readonly dir: string;
    /** Names in it. */
    readonly names: readonly string[];
  };
  /** How far the hook contract was proven. */
  readonly proof: "real program" | "contract";
  /** Lines for a person who has just armed the guard. */
  readonly notes: readonly string[];
}
