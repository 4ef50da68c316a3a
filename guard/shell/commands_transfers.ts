/**
 * Programs that fetch and copy between machines, and watch the network. Data only.
 *
 * @module
 */
import {
  each,
  READS,
  type VerbSpec,
  type VerbTable,
  verbTable,
} from "./verb_spec.ts";

/** A sub-command that fills its last operand. */
const COPIES: VerbSpec = {
  operands: "last",
  takes:
    "--exclude --include --filter --transfers --bwlimit --max-age --config",
  writes: "--log-file --backup-dir --cache-dir",
  unless: "-n --dry-run",
};

/** The rows by program. */
export const transferCommands: VerbTable = verbTable(() => ({
  wget2: { writes: "-O -o -a -P --output-document --directory-prefix" },
  aria2c: {
    takes: "-x -s -j -k -i --header --conf-path --input-file",
    writes: "-d -o -l --dir --out --log --save-session --dht-file-path",
  },
  axel: { takes: "-n -s -H", writes: "-o --output" },
  ...each("http https xh xhs", {
    takes: "-a -A --auth --session-read-only --verify --cert",
    writes: "-o --output --session",
  }),
  httrack: { writes: "-O --path", takes: "-%U" },
  ...each("yt-dlp youtube-dl yt-dlp_linux", {
    takes:
      "-f -S -r -u -p -a --format --cookies-from-browser --batch-file --proxy --sub-langs --exec --ppa --config-locations",
    writes:
      "-o --output -P --paths --cookies --cache-dir --download-archive --load-info-json-to --ffmpeg-dump",
    named: "-P --paths -o --output",
    exact: true,
  }),
  "gallery-dl": {
    takes: "-c -u -p --range",
    writes:
      "-d -D --dest --destination --directory --cookies-export --write-log --download-archive",
  },
  "transmission-cli": { writes: "-w --download-dir", takes: "-g -p -f" },
  ...each("you-get lux", { takes: "-i -F -c", writes: "-o -O --output-dir" }),
  ncat: { takes: "-p -s -w -i -m -g", writes: "-o --output -x --hex-dump" },
  ss: { takes: "-f -A", writes: "-D --diag" },
  adb: {
    takes: "-s -t -H -P",
    subs: {
      pull: { operands: "last" },
      ...each("shell exec-out push install logcat devices", {
        stopsAtOperand: true,
      }),
      backup: { writes: "-f" },
      bugreport: { operands: "first" },
    },
  },
  rcp: { operands: "last" },
  ncftpget: { operands: "second", takes: "-u -p -P -r -t -d -f" },
  ...each("scrapy", {
    subs: {
      ...each("crawl runspider", {
        takes: "-a -s",
        writes: "-o -O --output --logfile --pidfile",
      }),
      startproject: { operands: "second" },
    },
  }),
  ...each("wormhole magic-wormhole croc ffsend", {
    writes: "-o --out --output-file --output",
  }),
  rclone: {
    takes:
      "--config --transfers --bwlimit --exclude --include --filter --max-age --min-age",
    writes: "--log-file --backup-dir --cache-dir",
    unless: "-n --dry-run",
    subs: {
      ...each("copy sync copyto bisync mount nfsmount", COPIES),
      ...each("move moveto", { ...COPIES, operands: "all", mode: "tree" }),
      copyurl: { ...COPIES, operands: "second" },
      ...each(
        "delete purge mkdir rmdir rmdirs touch deletefile cleanup dedupe rcat settier",
        {
          ...COPIES,
          operands: "first",
          mode: "tree",
        },
      ),
    },
  },
  s3cmd: {
    takes: "-c --config --exclude --include --access_key --secret_key",
    subs: each("get sync", { operands: "last", takes: "--exclude --include" }),
  },
  s5cmd: {
    takes: "--endpoint-url --profile --numworkers",
    subs: each("cp mv sync", { operands: "last", takes: "--exclude" }),
  },
  b2: {
    subs: {
      ...each("download-file-by-name download-file-by-id download-file sync", {
        operands: "last",
      }),
      file: { subs: { download: { operands: "last" } } },
    },
  },
  ...each("oci ibmcloud", {
    writes: "--file --output-file --download-dir",
    guess: true,
  }),
  "ssh-keyscan": READS,
  "ssh-copy-id": READS,
  ssh: {
    takes: "-B -b -c -D -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
    writes: "-E",
    stopsAtOperand: true,
  },
  sftp: { operands: "second", takes: "-b -B -c -F -i -J -l -o -P -R -S" },
  tcpdump: {
    takes: "-i -c -s -r -C -G -W -z -Z -B -y -E -T",
    writes: "-w",
  },
  tshark: { takes: "-i -c -f -Y -r -a -b -T -e -d -o", writes: "-w" },
  dumpcap: { takes: "-i -c -f -a -b", writes: "-w" },
}));
