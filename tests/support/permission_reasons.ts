/**
 * Why an exported async function or a command has no row of its own in the permission
 * matrix.
 *
 * @module
 */

const COMMAND = "a command line: the rows of its commands say what it needs";
const CONNECTED = "goes over the connection that connectFleet() has opened";

/** The reasons, by the name that a row would have. */
export const REASONS: Readonly<Record<string, string>> = {
  "bulkhead worker ui":
    "runs until it is interrupted; needs what servePage() needs",
  "sandbox endsWithin()": "waits for what it is given",
  "sandbox interruptible()": "listens for signals, which needs none",
  "sandbox namedPermissions()":
    "needs what the function that it is given needs",
  "sandbox pause()": "waits",
  "sandbox readLines()": "reads a stream that is open",
  "sandbox sandboxCommand()": COMMAND,
  "plugins pluginsCommand()": COMMAND,
  "guard guardCommand()": COMMAND,
  "guard runHook()":
    "lets a call through rather than fail; the exact flags of its shim are tested one by one",
  "worker workerCommand()": COMMAND,
  "worker releaseClaim()":
    "never throws: without the flags of acquireClaim() it says that nothing was released",
  "fleet fleetCommand()": COMMAND,
  "fleet acquireLease()": "asks the store that it is given",
  "fleet claimSession()": CONNECTED,
  "fleet listJobs()": CONNECTED,
  "fleet offerHost()": CONNECTED,
  "fleet queueSession()": CONNECTED,
  "fleet readJob()": CONNECTED,
  "fleet sweepFleet()": CONNECTED,
  "fleet viewFleet()": CONNECTED,
  "abi serveChild()":
    "the program of a child process, which loadNativePlugin() starts with exact flags",
  "abi abiCommand()": COMMAND,
  "bulkhead bulkheadCommand()": COMMAND,
};
