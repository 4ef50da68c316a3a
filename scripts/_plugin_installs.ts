/**
 * The steps `install`, `update` and `uninstall`.
 *
 * @module
 */

import { reasonOf } from "@bulkhead/sandbox";
import { installPlugin, removePlugin, updatePlugin } from "@bulkhead/plugins";
import { answering, trustsAll } from "./_plugin_answers.ts";
import { type JsonObject, string } from "./_plugin_case.ts";
import { type Finding, type Play, stepKeys } from "./_plugin_step.ts";

/** Installs, updates or removes a plugin of a case. */
export async function installStep(
  play: Play,
  step: JsonObject,
): Promise<Finding> {
  const keys = stepKeys(step, {
    from: ["source", "src", "path", "archive", "url"],
    name: ["plugin"],
    answers: ["answer"],
    sha256: ["sha", "hash", "checksum"],
    data: ["removeData", "purge"],
    keepData: [],
  });
  const prompts: string[] = [];
  const ask = answering(keys.answers, prompts);
  const places = { home: play.stage.root, pluginsDir: play.stage.plugins };
  const options = {
    ...places,
    sandbox: play.isolation,
    ...(trustsAll(play.config)
      ? { trust: { enabled: true, default: "always" as const } }
      : {}),
    ...(ask === undefined ? {} : { ask }),
    ...(typeof keys.sha256 === "string" ? { sha256: keys.sha256 } : {}),
  };
  try {
    let lines: string[];
    if (step.op === "install") {
      ({ notices: lines } = await installPlugin(
        string(keys.from, "from"),
        options,
      ));
    } else if (step.op === "update") {
      ({ notices: lines } = await updatePlugin(string(keys.name, "name"), {
        ...options,
        ...(typeof keys.from === "string" ? { source: keys.from } : {}),
      }));
    } else {
      ({ notices: lines } = await removePlugin(string(keys.name, "name"), {
        ...places,
        data: keys.data !== false && keys.keepData !== true,
        force: true,
      }));
    }
    return { ok: true, prompts, lines, warnings: lines };
  } catch (error) {
    const reason = reasonOf(error);
    const lines = [reason];
    return { ok: false, error: reason, prompts, lines, warnings: lines };
  }
}
