import { type MatrixRow, testMatrix } from "./support/permission_matrix.ts";

const from = (names: string): string =>
  `import { ${names} } from "@bulkhead/worker/fleet";\n`;

/** Nobody listens there: what is asked for is leave to look. */
const SERVER = 'servers: "nats://127.0.0.1:1"';
const NET = "--allow-net=127.0.0.1:1";
const UNREACHED =
  '.catch((error) => { if (error.name !== "FleetError") throw error; });';

/** Every exported function that reaches a fleet's server, with its least flags. */
export const rows: MatrixRow[] = [
  {
    entry: "fleet connectFleet()",
    code: `${
      from("connectFleet")
    }await connectFleet({ ${SERVER} })${UNREACHED}`,
    flags: [NET],
  },
  {
    entry: "fleet doctorFleet()",
    code: `${from("doctorFleet")}await doctorFleet({ ${SERVER} });`,
    flags: [NET],
  },
  {
    entry: "fleet joinFleet()",
    code: from("joinFleet") +
      `await joinFleet({ ${SERVER}, explicit: true },
        { shortId: "a", sessionId: "b", cwd: DIR, resumed: false })${UNREACHED}`,
    flags: [NET],
  },
  {
    entry: "fleet queueCommand()",
    code: from("queueCommand") +
      `await queueCommand({ ${SERVER}, explicit: true }, { agent: "scripted", workspace: DIR, prompt: "x" }, false,
        { out() {}, err() {} })${UNREACHED}`,
    flags: [NET],
  },
  {
    entry: "fleet fleetSettings()",
    code:
      'import { fleetSettings } from "@bulkhead/worker/fleet-settings";\nawait fleetSettings(DIR);',
    flags: ["--allow-read={DIR}"],
  },
];

testMatrix(rows);
