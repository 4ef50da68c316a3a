/**
 * Containers: host directories that are mounted writable, and files copied out.
 *
 * @module
 */
import { type Call, type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { ownBelow } from "./own_files.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { isRemote } from "./verbs.ts";

const MOUNT = {
  rule: "container",
  label: "host directory mounted writable",
} as const;

const TAKES =
  "-e -p -w -u -h -l -m -c --name --env --env-file --publish --workdir --user --hostname --label --memory --cpus --network --net --entrypoint --platform --restart --add-host --dns --device --gpus --log-driver --log-opt --shm-size --tmpfs --ulimit --cap-add --cap-drop --security-opt --pull --volumes-from --ipc --pid --userns --runtime --stop-signal --expose --link --annotation --cgroupns --group-add --health-cmd -a --attach -f --file -t --tag --build-arg --target --cache-from --secret --ssh --progress -n -H --host --context --project-name --profile -v --volume --mount --cidfile --iidfile -o --output --metadata-file --project-directory --set --opt";

/** Programs that write nothing, whatever their arguments. */
const READERS = new Set(
  "cat ls head tail grep wc stat du file md5sum sha256sum id whoami pwd echo true"
    .split(" "),
);

const docker: CallReader = (call) => {
  const read = readOptions(call.args, { takes: TAKES });
  const global = readOptions(call.args, { takes: TAKES, stopsAtOperand: true });
  let [sub = "", ...rest] = global.operands;
  if (/^(?:container|image|compose|buildx|volume|builder)$/.test(sub)) {
    // `compose -f c.yml config`
    [sub = "", ...rest] = readOptions(rest, {
      takes: TAKES,
      stopsAtOperand: true,
    }).operands;
  }
  // `run IMAGE cat /x` says that it only reads what is mounted.
  const [, program = ""] = sub === "run"
    ? readOptions(rest, { takes: TAKES, stopsAtOperand: true }).operands
    : [];
  const reads = READERS.has(program) && !hasOption(global, "--entrypoint");
  if (sub === "run" || sub === "exec") readInside(call, rest);
  for (const [name, value] of read.options) {
    if (value === undefined) continue;
    if (
      (name === "-v" || name === "--volume") && !reads &&
      /^(?:run|create|exec|up|bud|build)$/.test(sub)
    ) volume(call, value);
    else if (name === "--set" && /\.output=/.test(value)) {
      writes(call, value.slice(value.indexOf("=") + 1).replace(/^.*dest=/, ""));
    } else if (
      (name === "--opt" || name === "-o") && sub === "create" &&
      /^device=\//.test(value)
    ) writes(call, value.slice("device=".length), "content", MOUNT);
    else if (name === "-f" && sub === "generate") writes(call, value);
    else if (name === "--mount" && !reads) bind(call, value);
    else if (/^--(?:cidfile|iidfile|metadata-file)$/.test(name)) {
      writes(call, value);
    } else if (
      (name === "-o" || name === "--output") &&
      /^(?:build|save|export|bake|b|config|convert|sbom|kube)$/.test(sub)
    ) {
      const place = /(?:^|,)dest=([^,]+)/.exec(value)?.[1] ??
        (/=/.test(value) ? undefined : value);
      if (place !== undefined && place !== "-") writes(call, place);
    }
  }
  if (sub === "cp") {
    const operands = readOptions(rest, { takes: "" }).operands;
    const destination = operands.at(-1);
    if (
      operands.length > 1 && destination !== undefined && destination !== "-" &&
      !isRemote(destination)
    ) {
      writes(call, destination);
    }
  }
  return UNKNOWN_STREAM;
};

/**
 * Follows what runs in a container, as far as it reaches the guard's own files by a mount. What
 * it does elsewhere stays in the container.
 */
function readInside(call: Call, args: readonly string[]): void {
  const { context, state } = call;
  const read = readOptions(args, { takes: TAKES, stopsAtOperand: true });
  const argv = read.operands.slice(1);
  const mounts = read.options.flatMap(([name, value]) => {
    if (name !== "-v" && name !== "--volume") return [];
    const [host = "", place = ""] = value?.split(":") ?? [];
    return place.startsWith("/") && place !== "/" &&
        ownBelow(host, state, context).length > 0
      ? [{ host, place }]
      : [];
  });
  if (mounts.length === 0 || argv.length === 0) return;
  const outside = argv.map((arg) =>
    mounts.reduce(
      (text, { host, place }) =>
        text.replaceAll(
          new RegExp(`(?<![\\w./-])${escapePattern(place)}(?![\\w.-])`, "g"),
          () => host,
        ),
      arg,
    )
  );
  const { incomplete } = context;
  const before = context.effects.length;
  context.nested(() => context.run.argv(outside, state.fork(), {}));
  const found = context.effects.splice(before);
  context.incomplete = incomplete;
  context.effects.push(...found.filter((one) => one.verdict === "protected"));
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** `HOST:CONTAINER[:OPTIONS]`; a host part without a slash names a volume. */
function volume(call: Call, text: string): void {
  const [host = "", container, options = ""] = text.split(":");
  if (container === undefined || !/^[./~\uE000-\uE002]/.test(host)) return;
  if (/(?:^|,)(?:ro|readonly)(?:,|$)/.test(options)) return;
  // A socket or a device is talked to, not written.
  if (/\.sock$|^\/dev\/|^\/tmp\/\.X11-unix/.test(host)) return;
  writes(call, host, "content", MOUNT);
}

/** `type=bind,source=HOST,target=CONTAINER[,readonly]`. */
function bind(call: Call, text: string): void {
  const parts = new Map(
    text.split(",").map((part) => {
      const at = part.indexOf("=");
      return at === -1
        ? [part, "true"] as const
        : [part.slice(0, at), part.slice(at + 1)] as const;
    }),
  );
  if (parts.get("type") !== "bind") return;
  const readOnly = parts.get("readonly") ?? parts.get("ro");
  const source = parts.get("source") ?? parts.get("src");
  if (
    source !== undefined && (readOnly === undefined || readOnly === "false")
  ) {
    writes(call, source, "content", MOUNT);
  }
}

/** bwrap's own mounts decide what its command can write. */
const bwrap: CallReader = (call) => {
  const { args } = call;
  const arity: Record<string, number> = {
    "--bind": 2,
    "--bind-try": 2,
    "--dev-bind": 2,
    "--dev-bind-try": 2,
    "--ro-bind": 2,
    "--ro-bind-try": 2,
    "--symlink": 2,
    "--setenv": 2,
    "--file": 2,
    "--bind-data": 2,
    "--ro-bind-data": 2,
    "--chmod": 2,
    "--proc": 1,
    "--dev": 1,
    "--tmpfs": 1,
    "--dir": 1,
    "--chdir": 1,
    "--unsetenv": 1,
    "--uid": 1,
    "--gid": 1,
    "--hostname": 1,
    "--remount-ro": 1,
    "--perms": 1,
    "--size": 1,
    "--seccomp": 1,
    "--args": 1,
    "--info-fd": 1,
    "--sync-fd": 1,
    "--lock-file": 1,
    "--cap-add": 1,
    "--cap-drop": 1,
  };
  let i = 0;
  const state = call.state.fork();
  for (; (args[i] ?? "").startsWith("--"); i++) {
    const name = args[i] ?? "";
    if (name === "--") {
      i++;
      break;
    }
    if (name === "--chdir") state.cwd = [args[i + 1] ?? "/"];
    i += Object.hasOwn(arity, name) ? arity[name] ?? 0 : 0;
  }
  // Judged as if nothing were mounted: a path inside may be another one outside.
  return call.context.nested(() =>
    call.context.run.argv(args.slice(i), state, call.stdin)
  );
};

const qemu: CallReader = (call) => {
  const output = optionValue(
    readOptions(call.args, { takes: "-o", singleDash: true }),
    "-o",
  );
  if (output !== undefined) writes(call, output);
  return UNKNOWN_STREAM;
};

/** The programs by name. */
export const CONTAINERS: Readonly<Record<string, CallReader>> = {
  docker,
  podman: docker,
  nerdctl: docker,
  buildah: docker,
  "docker-compose": docker,
  bwrap,
  packer: qemu,
};
