/**
 * The tables of programs that few commands name. A hook process loads them when it meets a
 * program that the everyday tables do not know.
 *
 * @module
 */
import { compilerCommands } from "./commands_compilers.ts";
import { dataCommands } from "./commands_data.ts";
import { documentCommands } from "./commands_documents.ts";
import { keyCommands } from "./commands_keys.ts";
import { languageCommands } from "./commands_languages.ts";
import { mediaCommands } from "./commands_media.ts";
import { operationCommands } from "./commands_operations.ts";
import { projectCommands } from "./commands_projects.ts";
import { sourceCommands } from "./commands_sources.ts";
import { systemCommands } from "./commands_system.ts";
import { transferCommands } from "./commands_transfers.ts";
import type { VerbTable } from "./verb_spec.ts";

/** The tables; no program is in two of them, or in one of `EVERYDAY`. */
export const SELDOM: readonly VerbTable[] = [
  compilerCommands,
  dataCommands,
  documentCommands,
  keyCommands,
  languageCommands,
  mediaCommands,
  systemCommands,
  operationCommands,
  projectCommands,
  sourceCommands,
  transferCommands,
];
