/**
 * A case's answers to the question of trust.
 *
 * @module
 */

import { questionText, type TrustHandler } from "@bulkhead/plugins";
import { isObject, type Json } from "./_plugin_case.ts";

/** Answers in the order given, then no; without answers there is nobody to ask. */
export function answering(
  answers: Json | undefined,
  prompts: string[],
): TrustHandler | undefined {
  if (answers === undefined || answers === null) return undefined;
  const list: Json[] = Array.isArray(answers) ? [...answers] : [answers];
  return (question) => {
    prompts.push(questionText(question));
    const answer = list.shift();
    if (answer === "throw") throw new Error("the handler failed");
    // Whatever else a case answers goes in as it is: only the exact words may count.
    const word: unknown = answer === "deny" || answer === undefined
      ? "no"
      : answer;
    return word as "no";
  };
}

/** Whether a case's configuration lets everything in without a question. */
export function trustsAll(config: Json | undefined): boolean {
  return isObject(config) && isObject(config.trust) &&
    config.trust.enabled === true && config.trust.default === "always";
}
