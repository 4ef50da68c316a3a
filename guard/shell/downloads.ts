/**
 * Downloads: the files they are saved to.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { joinPath } from "./places.ts";

const curl: CallReader = (call) => {
  const takes = CURL_TAKES;
  const read = readOptions(call.args, takes);
  const directory = optionValue(read, "--output-dir");
  for (const [name, value] of read.options) {
    if (/^(?:-O|-J|--remote-name|--remote-name-all)$/.test(name)) {
      writes(call, directory ?? ".");
    }
    if (name === "-w" || name === "--write-out") {
      // `%output{x}` and `%output{>>x}` move what is printed after it.
      for (
        const [, path = ""] of (value ?? "").matchAll(
          /%output\{(?:>>)?([^}]+)\}/g,
        )
      ) {
        writes(call, path);
      }
    }
    if (name === "-K" || name === "--config") {
      configured(call, value ?? "", directory);
    }
    if (value === undefined || value === "-") continue;
    if (name === "-o" || name === "--output") {
      writes(
        call,
        directory === undefined ? value : joinPath(directory, value),
      );
    } else if (CURL_WRITES.has(name)) writes(call, value);
  }
  return UNKNOWN_STREAM;
};

/** A file of curl's own options that the command itself has written, or hands in. */
function configured(call: Call, file: string, directory?: string): void {
  const { text } = file === "-"
    ? call.stdin
    : call.context.readFile(file, call.state);
  const lines = text?.matchAll(
    /^\s*-{0,2}([\w-]+)\s*[=:\s]\s*(?:"([^"\n]*)"|(\S+))/gm,
  );
  for (const [, name = "", quoted, bare] of lines ?? []) {
    const value = quoted ?? bare ?? "";
    if (value === "-" || value === "") continue;
    if (name === "o" || name === "output") {
      writes(
        call,
        directory === undefined ? value : joinPath(directory, value),
      );
    } else if (
      name === "output-dir" || CURL_WRITES.has(`--${name}`) ||
      CURL_WRITES.has(`-${name}`)
    ) writes(call, value);
  }
}

const CURL_WRITES = new Set(
  "-D -c --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save --ssl-sessions"
    .split(" "),
);
const CURL_TAKES = {
  takes:
    "-A -b -C -d -e -E -F -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z -h --data --data-raw --data-binary --data-urlencode --json --header --user --user-agent --cookie --form --request --url --max-time --connect-timeout --retry --retry-delay --retry-max-time --proxy --cacert --cert --key --range --referer --resolve --upload-file --write-out --limit-rate --interface --max-redirs --config --continue-at --ciphers --capath --unix-socket --max-filesize --oauth2-bearer --connect-to --noproxy -o --output --output-dir " +
    [...CURL_WRITES].join(" "),
};

const wget: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes:
      "-e -i -t -T -w -Q -U -D -R -A -l -B -X -I -O -o -a -P --execute --input-file --tries --timeout --wait --quota --user-agent --header --post-data --post-file --user --password --level --domains --accept --reject --base --referer --limit-rate --method --body-data --load-cookies --max-redirect --cut-dirs --waitretry --output-document --output-file --append-output --directory-prefix --save-cookies --warc-file --hsts-file --rejected-log --warc-tempdir",
  });
  if (hasOption(read, "--spider", "--version", "--help")) return UNKNOWN_STREAM;
  let document: string | undefined;
  for (const [name, value] of read.options) {
    if (value === undefined || value === "-") {
      if (name === "-O" || name === "--output-document") document = "-";
      continue;
    }
    if (/^(?:-O|--output-document)$/.test(name)) document = value;
    if (/^(?:-e|--execute)$/.test(name)) {
      const path =
        /^\s*(?:dir_?prefix|output_?document|log_?file|save_?cookies)\s*=\s*(.+)$/i
          .exec(value)?.[1];
      if (path !== undefined) writes(call, path);
    }
    if (
      /^(?:-O|-o|-a|-P|--output-document|--output-file|--append-output|--directory-prefix|--save-cookies|--warc-file|--hsts-file|--rejected-log|--warc-tempdir)$/
        .test(name)
    ) {
      writes(call, value);
    }
  }
  if (
    document === undefined &&
    optionValue(read, "-P", "--directory-prefix") === undefined
  ) {
    writes(call, ".");
  }
  return UNKNOWN_STREAM;
};

/** The programs by name. */
export const DOWNLOADS: Readonly<Record<string, CallReader>> = {
  curl,
  wget,
};
