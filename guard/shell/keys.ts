/**
 * Keys of OpenSSH and GnuPG: where they are kept.
 *
 * @module
 */
import { type CallReader, writes } from "./call.ts";
import { hasOption, optionValue, readOptions } from "./options.ts";
import { readVariable } from "./parameters.ts";
import { UNKNOWN_STREAM } from "./state.ts";
import { applyTable } from "./verbs.ts";

const sshKeygen: CallReader = (call) => {
  const read = readOptions(call.args, {
    takes: "-b -C -N -t -m -P -O -I -n -s -V -z -a -E -Y -Z -w -r -F -D",
    writes: "-f -M",
  });
  if (hasOption(read, "-l", "-F", "-y", "-B", "-L", "-e", "-r")) {
    return UNKNOWN_STREAM;
  }
  if (hasOption(read, "-s")) {
    // Each key gets its certificate beside it.
    for (const path of read.operands) writes(call, path);
    return UNKNOWN_STREAM;
  }
  if (hasOption(read, "-A")) {
    writes(call, `${optionValue(read, "-f") ?? ""}/etc/ssh`);
    return UNKNOWN_STREAM;
  }
  const file = optionValue(read, "-f");
  const home = readVariable("HOME", call.state, call.context)?.[0];
  writes(
    call,
    file ?? (home === undefined ? "\uE000/.ssh" : `${home}/.ssh/id_ed25519`),
  );
  return UNKNOWN_STREAM;
};

/** Commands of GnuPG that change its key ring. */
const CHANGES_RING =
  /^--(?:import|(?:quick-|full-)?gen(?:erate)?-key|quick-add-\w+|delete-(?:secret-)?keys?|edit-key|recv-keys|receive-keys|refresh-keys|import-ownertrust|trust-key)$/;

const gpg: CallReader = (call) => {
  applyTable(call);
  const home = optionValue(
    readOptions(call.args, { takes: "--homedir", exact: true }),
    "--homedir",
  );
  if (home !== undefined && call.args.some((arg) => CHANGES_RING.test(arg))) {
    writes(call, home);
  }
  return UNKNOWN_STREAM;
};

/** The programs by name. */
export const KEYS: Readonly<Record<string, CallReader>> = {
  "ssh-keygen": sshKeygen,
  gpg,
  gpg2: gpg,
};
