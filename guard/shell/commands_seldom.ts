/**
 * The tables of programs beside the everyday ones. A hook process loads them when it meets a
 * program that those do not know.
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
import { archiveCommands } from "./commands_archives.ts";
import { buildCommands } from "./commands_builds.ts";
import { javascriptCommands } from "./commands_javascript.ts";
import { formatterCommands } from "./commands_formatters.ts";
import { pythonCommands } from "./commands_python.ts";
import { toolchainCommands } from "./commands_toolchains.ts";
import type { VerbTable } from "./verb_spec.ts";

/** The tables; no program is in two of them, or in one of `EVERYDAY`. */
export const SELDOM: readonly VerbTable[] = [
  toolchainCommands,
  pythonCommands,
  formatterCommands,
  javascriptCommands,
  buildCommands,
  archiveCommands,
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
