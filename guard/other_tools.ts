/**
 * Tools that no vocabulary names, such as those of MCP servers: which paths of their input they
 * write, by the words in the tool's name and in the names of its arguments.
 *
 * @module
 */
import { fieldsOf } from "./targets.ts";

const WRITE_WORDS = words(
  "write edit create delete remove move rename copy append save put update insert replace patch " +
    "modify make mkdir touch truncate download export extract unzip unpack store overwrite clone " +
    "init screenshot format symlink link chmod commit checkout reset add stash merge worktree " +
    "rm mv cp fill set output dump generate backup record capture snapshot trace heapsnapshot zip " +
    "compress archive install scaffold rmdir unlink upsert trash wipe clean purge empty erase apply tar fix rewrite rotate prepend hardlink",
);
/** Words of git that change a repository; beside `git` only. */
const GIT_WORDS = words(
  "push pull fetch rebase cherry revert restore switch tag bisect apply am submodule gc clean",
);
/** What is taken out of a file, or said about one, rather than put into one. */
const TOLD =
  /(?:^|_)(?:extract_(?:text|tables?|images?|metadata|pages?|content|data|links|fields)|generate_(?:summary|description|explanation|caption|tags))(?:_|$)/;
/** What is no file, though it may have a path. */
const NO_FILE =
  /(?:^|_)(?:route|endpoint|flag|issue|ticket|webhook|permission|repository|comment|label|milestone|channel|message|event)s?(?:_|$)|_page(?:_|$)/;
const READ_WORDS = words(
  "read get list search find describe analyze analyse view show stat info open load parse count check " +
    "validate query inspect scan diff compare exists tree watch is has lookup resolve detect status ls cat " +
    "grep glob head tail preview explain review lint audit measure",
);
/** What it is handed goes elsewhere. */
const SEND_WORDS = words(
  "upload send attach attachment post publish share submit deploy import ingest",
);
const MOVE_WORDS = words("move rename mv");
const REMOVE_WORDS = words(
  "move rename mv delete remove rm rmdir unlink trash wipe purge empty erase",
);
const SHELL_WORDS = words(
  "execute exec run shell bash sh terminal command cmd process console tmux eval evaluate repl ipython powershell",
);
/** Servers that drive a browser: a file that a tool of theirs names is what it saves. */
const BROWSERS = /playwright|puppeteer|chrome|devtools|browser|selenium/i;
/** Servers that run whatever their tools are called. */
const RUNNERS =
  /(?:^|[-_])(?:exec|term\d*|terminal|shell|bash|process|commands?|cli|repl|powershell)(?:[-_]|$)/i;
/** Tools of data bases; their statements may name files. */
const STATEMENTS = /sqlite|duckdb/i;
/** What is asked about something under way, whatever that is. */
const REPORTS = words("status info history progress metadata stats");
/** Servers of something that is no file system of this machine. */
const REMOTE =
  /^(?:github|gitlab|bitbucket|notion|confluence|jira|atlassian|slack|discord|linear|asana|trello|airtable|sentry|figma|stripe|supabase|gdrive|google\w*|drive|gmail|mail|wiki|imap|email|calendar|contacts|dropbox|onedrive|sharepoint|hubspot|salesforce|zendesk|wordpress|cloudflare|vercel|netlify|aws|azure|gcp|s3|k8s|kubernetes|memory|maps|mongo\w*|postgres\w*|mysql|redis|elastic\w*|neo4j|qdrant|chroma|pinecone|weaviate)$/i;

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** The MCP server that a tool's name begins with. */
function serverOf(toolName: string): string {
  return /^mcp__(.+?)__/.exec(toolName)?.[1] ?? "";
}

/** What the words in a tool's name say. */
export interface ToolGuess {
  /** It writes what it names. */
  writes: boolean;
  /** It reads what it names: no other word of its name says that it writes. */
  reads: boolean;
  /** It sends what it names elsewhere. */
  sends: boolean;
  /** It runs a command or code. */
  runs: boolean;
  /** It moves what it names. */
  moves: boolean;
  /** It removes what it names. */
  removes: boolean;
  /** It makes a link: what that leads to is left alone. */
  links: boolean;
  /** It works on a repository of git. */
  git: boolean;
  /** It takes an archive apart. */
  unpacks: boolean;
  /** It brings something here. */
  downloads: boolean;
}

/**
 * What a tool that no vocabulary names is likely to do, by the words in its name
 * (`mcp__filesystem__write_file`, `createFile`). Of words that read and words that write, the
 * first one counts: `list_exports` reads.
 *
 * @param name The tool name.
 * @returns What its words say.
 */
export function guessTool(name: string): ToolGuess {
  const own = name.startsWith("mcp__")
    ? name.split("__").slice(2).join("_")
    : name;
  const parts = own.replace(/([a-z\d])([A-Z])/g, "$1_$2").toLowerCase().split(
    /[^a-z\d]+/,
  );
  const has = (set: ReadonlySet<string>) => parts.some((part) => set.has(part));
  const git = parts.includes("git") || /^git(?:[-_]|$)/.test(serverOf(name));
  const text = parts.join("_");
  const server = serverOf(name);
  const edits = /(?:search|find)_(?:and_)?replace|_to_(?:file|disk|path)(?:_|$)/
    .test(text);
  const verb = edits
    ? "write"
    : parts.find((part) =>
      WRITE_WORDS.has(part) || READ_WORDS.has(part) ||
      git && GIT_WORDS.has(part)
    );
  const reads = verb !== undefined && READ_WORDS.has(verb) ||
    REPORTS.has(parts.at(-1) ?? "") || TOLD.test(text);
  const sends = (has(SEND_WORDS) || !git && parts[0] === "push") &&
    !/^(?:download|export|save|get)$/.test(verb ?? "");
  return {
    writes: verb !== undefined && !reads && !sends,
    reads,
    sends,
    // What a browser evaluates runs in its page.
    runs: !BROWSERS.test(server) &&
      (has(SHELL_WORDS) || RUNNERS.test(server) || STATEMENTS.test(name)),
    moves: has(MOVE_WORDS),
    removes: has(REMOVE_WORDS),
    links: /(?:^|_)(?:sym|hard)?link(?:_|$)/.test(text),
    git,
    unpacks: /^(?:extract|unpack|unzip|untar)$/.test(verb ?? ""),
    downloads: /^(?:download|export|dump|backup)$/.test(verb ?? ""),
  };
}

/** Keys of a path, as far as their last word says so. */
const PATH_LIKE =
  /(?:^|_)(?:path|paths|path_in_project|file|files|filename|filenames|filepath|filepaths|outfile|savepath|dir|directory|directories|folder|dest|destination|target|output|out|location|uri|url|root|to|into|notebook|archive|manifest|package_json)$/;
/** Keys of what a tool starts from. */
const SOURCE_LIKE =
  /(?:^|_)(?:source|src|from|old_path|origin)$|^(?:input|source|src|from|old|original|template|reference)s?(?:_|$)/;
/** Keys that name what a tool makes, whatever it is called. */
const OUTPUT_LIKE =
  /^(?:(?:save|saved|download|export)_(?:path|dir|directory|file|filename|folder|to|location|as)|(?:\w+_)?out(?:put)?s?(?:_(?:\w+_)?(?:path|dir|directory|file|filename|folder|paths|name|location|pdf|png|image|csv|html))?|outfile|savepath|dir_for_\w+|dst|dest(?:ination)?(?:_(?:path|dir|directory|file|folder))?)$/;
/** Keys that name what a tool makes, unless its name says that it reads. */
const TARGET_LIKE =
  /^(?:(?:target|new|to|backup|dump|screenshot|snapshot|trace|report|log|video|archive|zip|result)_(?:\w+_)?(?:path|dir|directory|file|filename|folder|location))$/;
/** Keys of a place on this machine, as opposed to another. */
const LOCAL_LIKE =
  /^local(?:_?(?:path|dir|directory|file|filename|folder|to))?$/;
/** Keys that ask for no more than a preview. */
const DRY_KEYS = ["dryRun", "dry_run"];
/** Keys that say what is to be done with the path beside them. */
const ACTION_KEYS = ["action", "operation", "op", "mode", "command"];
/** Keys of what is put into a table or sent: a path in it names no file. */
const DATA_LIKE =
  /^(?:rows?|records?|documents?|metadata|properties|values|payload|data|body|entities|attributes)$/;
/** Keys of what is put into a file. */
const CONTENT_LIKE =
  /^(?:content|contents|file_content|file_contents|new_content|new_contents|file_text|new_str|new_string|new_text|text_content|diff|patch)$/;

/** Keys that say the paths beside them belong to another machine. */
const REMOTE_KEYS = [
  "owner",
  "repositoryId",
  "repository_id",
  "projectId",
  "project_id",
  "pageId",
  "page_id",
  "repo",
  "repository",
  "branch",
  "bucket",
  "endpoint",
  "host",
  "method",
];

/**
 * The local paths that a tool outside the vocabularies would write.
 *
 * @param toolName Its name.
 * @param input Its input, nested to any shape.
 * @param guess What its name says.
 * @returns Each path once.
 */
export function otherTargets(
  toolName: string,
  input: unknown,
  guess: ToolGuess,
): string[] {
  const fields = fieldsOf(input);
  // A trial run only shows what it would change.
  if (DRY_KEYS.some((key) => fields.get(key) === true)) return [];
  const server = serverOf(toolName);
  const found = new Set<string>();
  collect(
    input,
    {
      ...actionOf(fields, guess),
      browser: BROWSERS.test(server),
      remote: REMOTE.test(server),
      noFile: NO_FILE.test(snakeCase(toolName)) && !BROWSERS.test(server) &&
        !/file|dir|folder/i.test(toolName),
    },
    0,
    found,
  );
  return [...found];
}

interface Reading extends ToolGuess {
  browser: boolean;
  remote: boolean;
  /** What it works on is no file. */
  noFile: boolean;
}

/** The guess, corrected by an argument such as `action: "create"` and by contents that are given. */
function actionOf(fields: Map<string, unknown>, guess: ToolGuess): ToolGuess {
  for (const key of ACTION_KEYS) {
    const action = fields.get(key);
    if (typeof action !== "string") continue;
    const said = guessTool(action);
    if (said.writes || said.reads) {
      return { ...guess, writes: said.writes, reads: said.reads };
    }
  }
  const fills = !guess.reads && !guess.sends &&
    [...fields].some(([key, value]) =>
      CONTENT_LIKE.test(snakeCase(key)) && typeof value === "string"
    );
  const creates = guess.reads && fields.get("create") === true;
  return fills || creates ? { ...guess, writes: true, reads: false } : guess;
}

function collect(
  value: unknown,
  reading: Reading,
  depth: number,
  found: Set<string>,
): void {
  if (depth > 8) return;
  if (Array.isArray(value)) {
    for (const item of value) collect(item, reading, depth + 1, found);
    return;
  }
  const fields = fieldsOf(value);
  const names = [...fields.keys()].map(snakeCase);
  const elsewhere = reading.remote ||
    REMOTE_KEYS.some((key) =>
      fields.has(key) &&
      !(reading.git && /^(?:branch|repo|repository)$/.test(key))
    );
  const paired = names.some((name) => SOURCE_LIKE.test(name));
  const other = names.some((name) =>
    OUTPUT_LIKE.test(name) || TARGET_LIKE.test(name) ||
    /^dest|^dst$|^target|^to$|new_?path/.test(name)
  );
  for (const [key, item] of fields) {
    const name = snakeCase(key);
    if (isWritten(name, { ...reading, paired }, elsewhere, other)) {
      add(item, found);
    }
    if (
      typeof item === "object" && item !== null && !DATA_LIKE.test(name)
    ) {
      collect(item, reading, depth + 1, found);
    }
  }
}

/** Whether the value under a key is written. */
function isWritten(
  name: string,
  reading: Reading & { paired: boolean },
  elsewhere: boolean,
  other: boolean,
): boolean {
  if (LOCAL_LIKE.test(name)) {
    return !reading.sends && (reading.writes || elsewhere || !reading.reads);
  }
  if (/^remote_/.test(name)) return false;
  if (reading.git && /^(?:cwd|repo|repository)$/.test(name)) {
    return reading.writes;
  }
  if (elsewhere) {
    if (reading.writes && reading.downloads && TARGET_LIKE.test(name)) {
      return true;
    }
    return reading.remote &&
      (OUTPUT_LIKE.test(name) && name !== "destination" ||
        reading.downloads &&
          /^(?:file|path|file_?path|file_?name)$/.test(name));
  }
  if (reading.links && /^target|^existing/.test(name)) return false;
  if (reading.links && name === "link") return true;
  if (SOURCE_LIKE.test(name)) {
    return reading.moves ||
      reading.writes && !other && PATH_LIKE.test(name) && !/_?from$/.test(name);
  }
  if (OUTPUT_LIKE.test(name)) return !reading.sends;
  if (TARGET_LIKE.test(name)) return !reading.reads && !reading.sends;
  if (other && /^(?:target|to)$/.test(name) && reading.paired) {
    return !reading.reads && !reading.sends;
  }
  if (!PATH_LIKE.test(name) || name === "archive" && reading.unpacks) {
    return false;
  }
  if (reading.sends || reading.noFile) return false;
  return reading.writes ||
    reading.browser && /^file_?(?:name|path)$/.test(name);
}

function add(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 1000)) add(item, found);
    return;
  }
  if (
    typeof value !== "string" || value === "" || value.length >= 4096 ||
    value.includes("\n")
  ) return;
  const path = localPath(value);
  if (path !== undefined && path !== "") found.add(path);
}

function snakeCase(key: string): string {
  return key.replace(/([a-z\d])([A-Z])/g, "$1_$2").toLowerCase();
}

/** A path of this machine, out of a plain path or a `file:` address. */
function localPath(text: string): string | undefined {
  const file = /^file:\/\/(?:localhost)?(\/.*)$/i.exec(text);
  if (file?.[1] !== undefined) {
    try {
      return decodeURIComponent(file[1]);
    } catch {
      return file[1];
    }
  }
  return /^[a-z][a-z\d+.-]+:/i.test(text) ? undefined : text;
}
