import { UsageError } from "@bulkhead/sandbox/command";
import { fleetSettings } from "@bulkhead/worker/fleet-settings";
import type { Finding, Scene } from "./finding.ts";

/**
 * Looks at the fleet's server, when there is a fleet: `[worker] fleet` in the
 * configuration, or `$BULKHEAD_FLEET`.
 *
 * @param scene Where to look.
 * @returns Version, streams, rights and clock; nothing without a fleet.
 */
export async function checkFleet({ home }: Scene): Promise<Finding[]> {
  const area = "fleet";
  let settings;
  try {
    settings = await fleetSettings(
      home,
      (name) =>
        name === "fleet"
          ? Deno.env.get("BULKHEAD_FLEET") || undefined
          : undefined,
    );
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return [{ area, status: "broken", text: error.message, fix: error.fix }];
  }
  if (settings === undefined) return [];
  const { doctorFleet } = await import("@bulkhead/worker/fleet");
  const { explicit: _, ...connection } = settings;
  const checks = await doctorFleet(connection);
  return checks.map(({ name, ok, found, fix }) => ({
    area,
    status: ok ? "ok" : "broken",
    text: `${name}: ${found}`,
    ...fix === undefined ? {} : { fix },
  }));
}
