/**
 * Expectations spelled as a subject and a relation: `textContains`, `warningsAtLeast`, `promptNotMatches`, `tools`.
 *
 * @module
 */

import { type Json, strings } from "./_plugin_case.ts";
import type { Observation } from "./_plugin_observation.ts";

/** What a subject holds, and how its relations are to be read. */
interface Subject {
  /** `names` are compared whole, `lines` are searched one by one, a `text` is one piece. */
  kind: "names" | "lines" | "text";
  values: readonly string[] | undefined;
}

const SUBJECTS: [RegExp, (seen: Observation) => Subject][] = [
  [
    /^(?:text|output|content|result(?:Text)?|stdout|message)$/,
    (seen) => text(seen.text ?? seen.error),
  ],
  [
    /^(?:stderr|std(?:err)?Lines?)$/,
    (seen) =>
      seen.text === undefined
        ? lines(seen.lines?.map((line) => `warning: ${line}`))
        : text(seen.text),
  ],
  [/^reasons?$/, (seen) => text(seen.reason ?? "")],
  [/^errors?(?:Message|Text)?$/, (seen) => text(seen.error ?? seen.text ?? "")],
  [
    /^(?:warnings?|notices?|lines?|printed|log|diagnostics?|problems?)$/,
    (seen) => lines(seen.lines),
  ],
  [
    /^(?:prompts?|questions?|asked|diffs?)(?:Text)?$/,
    (seen) => lines(seen.prompts),
  ],
  [/^(?:failures?|hookErrors?)$/, (seen) => lines(seen.failures)],
  [
    /^(?:additionalContexts?|contexts?)$/,
    (seen) => lines(seen.additionalContext),
  ],
  [
    /^(?:tools?|toolNames?)$/,
    (seen) => names(seen.tools?.map((tool) => tool.name)),
  ],
  [
    /^(?:plugins?|pluginNames?|loaded|loadedNames|loadedPlugins)$/,
    (seen) => names(seen.plugins),
  ],
  [
    /^(?:hooks?|hookEvents?|events)$/,
    (seen) => names(seen.hooks?.map(({ event }) => event)),
  ],
];

type Relation = (wanted: Json, subject: Subject) => string | undefined;

const RELATIONS: [RegExp, Relation][] = [
  [/^(?:Contains?|Includes?|Has)(?:All)?$/, contains],
  [
    /^(?:(?:Contains|Includes|Has)Any|OneOf|AnyOf)$/,
    (wanted, subject) =>
      strings(wanted, "an expectation").some((part) => holds(subject, part))
        ? undefined
        : `none holds for ${brief(subject)}`,
  ],
  [
    /^(?:Match(?:es)?|Regex)Any$/,
    (wanted, subject) =>
      strings(wanted, "an expectation").some((part) =>
          matches(joined(subject), part)
        )
        ? undefined
        : `none holds for ${brief(subject)}`,
  ],
  [/^(?:(?:Does)?Not(?:Contains?|Includes?)|Excludes?|Lacks?)$/, lacks],
  [/^(?:Match(?:es)?|Regex)(?:All)?$/, matchesAll],
  [/^(?:Does)?Not(?:Match(?:es)?|Regex)$/, matchesNone],
  [/^(?:Equals?|Is|Exactly?)$/, equals],
  [
    /^(?:StartsWith|Prefix)$/,
    ends((value, part) => value.startsWith(part)),
  ],
  [/^(?:EndsWith|Suffix)$/, ends((value, part) => value.endsWith(part))],
  [
    /^(?:Count|Number|Total)$/,
    number((size, wanted) => size === wanted, "exactly", countOf),
  ],
  [
    /^(?:Count)?(?:AtLeast|Min(?:imum)?)$/,
    number((size, wanted) => size >= wanted, "at least", sizeOf),
  ],
  [
    /^(?:Count)?(?:AtMost|Max(?:imum)?)$/,
    number((size, wanted) => size <= wanted, "at most", sizeOf),
  ],
  [
    /^Length(?:Equals|Is)?$/,
    number((size, wanted) => size === wanted, "exactly", lengthOf),
  ],
  [
    /^(?:LengthAtLeast|MinLength|LengthMin)$/,
    number((size, wanted) => size >= wanted, "at least", lengthOf),
  ],
  [
    /^(?:LengthAtMost|MaxLength|LengthMax)$/,
    number((size, wanted) => size <= wanted, "at most", lengthOf),
  ],
  [
    /^Empty$/,
    (wanted, { values = [] }) =>
      values.every((value) => value === "") === wanted
        ? undefined
        : `found ${JSON.stringify(values).slice(0, 300)}`,
  ],
  [
    /^(?:InOrder|Order|Ordered)$/,
    (wanted, subject) => {
      let at = 0;
      const whole = joined(subject);
      for (const part of strings(wanted, "an expectation")) {
        const found = whole.indexOf(part, at);
        if (found < 0) return `${JSON.stringify(part)} is not in its place`;
        at = found + part.length;
      }
      return undefined;
    },
  ],
];

/** The check of a key that names a subject and a relation; undefined for other keys. */
export function relationCheck(
  key: string,
): ((wanted: Json, seen: Observation) => string | undefined) | undefined {
  for (const [subjects, subjectOf] of SUBJECTS) {
    if (subjects.test(key)) {
      return (wanted, seen) => plain(wanted, subjectOf(seen));
    }
    for (const cut of key.matchAll(/[A-Z]/g)) {
      if (!subjects.test(key.slice(0, cut.index))) continue;
      const relation = RELATIONS.find(([names]) =>
        names.test(key.slice(cut.index))
      );
      if (relation !== undefined) {
        return (wanted, seen) => relation[1](wanted, subjectOf(seen));
      }
    }
  }
  return undefined;
}

/** A subject without a relation: a number counts, names are compared, lines and texts are searched. */
function plain(wanted: Json, subject: Subject): string | undefined {
  if (typeof wanted === "number") {
    return number((size, count) => size === count, "exactly", countOf)(
      wanted,
      subject,
    );
  }
  if (typeof wanted === "boolean") {
    return (subject.values ?? []).some((value) => value !== "") === wanted
      ? undefined
      : `found ${brief(subject)}`;
  }
  if (subject.kind === "names") return equals(wanted, subject);
  if (Array.isArray(wanted) && wanted.length === 0) {
    return (subject.values ?? []).length === 0
      ? undefined
      : `found ${brief(subject)}`;
  }
  if (typeof wanted === "string" && subject.kind === "text") {
    const [value = ""] = subject.values ?? [];
    return value === wanted || value.trim() === wanted.trim() ||
        wanted !== "" && holds(subject, wanted)
      ? undefined
      : `wanted ${JSON.stringify(wanted)}, found ${brief(subject)}`;
  }
  return matchesAll(wanted, subject);
}

function contains(wanted: Json, subject: Subject): string | undefined {
  return every(wanted, subject, (part) => holds(subject, part));
}

function lacks(wanted: Json, subject: Subject): string | undefined {
  return every(wanted, subject, (part) => !holds(subject, part));
}

/** Every pattern is found; of names, every name has to fit. */
function matchesAll(wanted: Json, subject: Subject): string | undefined {
  const { kind, values } = subject;
  return every(
    wanted,
    subject,
    (part) =>
      kind === "names"
        ? values?.every((value) => new RegExp(part).test(value)) ?? false
        : matches(joined(subject), part),
  );
}

function matchesNone(wanted: Json, subject: Subject): string | undefined {
  return every(
    wanted,
    subject,
    (part) => !(subject.values ?? []).some((value) => matches(value, part)),
  );
}

function equals(wanted: Json, { kind, values }: Subject): string | undefined {
  const list = kind === "text"
    ? values?.[0]
    : typeof wanted === "string"
    ? values?.join("\n")
    : values;
  return JSON.stringify(wanted) === JSON.stringify(list)
    ? undefined
    : `wanted ${shorten(wanted)}, found ${shorten(list ?? null)}`;
}

function ends(
  test: (value: string, part: string) => boolean,
): Relation {
  return (wanted, subject) =>
    every(
      wanted,
      subject,
      (part) => (subject.values ?? []).some((value) => test(value, part)),
    );
}

function number(
  test: (size: number, wanted: number) => boolean,
  words: string,
  size: (subject: Subject) => number,
): Relation {
  return (wanted, subject) => {
    if (typeof wanted !== "number") return "must be a number";
    if (subject.values === undefined) return "does not apply to this step";
    const found = size(subject);
    return test(found, wanted)
      ? undefined
      : `found ${found}, wanted ${words} ${wanted}: ${brief(subject)}`;
  };
}

function countOf({ values = [] }: Subject): number {
  return values.length;
}

function lengthOf(subject: Subject): number {
  return subject.kind === "names" ? countOf(subject) : joined(subject).length;
}

function sizeOf(subject: Subject): number {
  return subject.kind === "text" ? lengthOf(subject) : countOf(subject);
}

function every(
  wanted: Json,
  subject: Subject,
  test: (part: string) => boolean,
): string | undefined {
  for (const part of strings(wanted, "an expectation")) {
    if (!test(part)) {
      return `${JSON.stringify(part)} does not hold for ${brief(subject)}`;
    }
  }
  return undefined;
}

function holds({ kind, values = [] }: Subject, part: string): boolean {
  return kind === "names"
    ? values.includes(part)
    : values.some((value) => value.includes(part));
}

/** Expectations spell patterns and plain texts alike. */
function matches(value: string, part: string): boolean {
  if (value.includes(part)) return true;
  try {
    return new RegExp(part, "s").test(value);
  } catch {
    return false;
  }
}

function joined({ values = [] }: Subject): string {
  return values.join("\n");
}

function brief({ kind, values }: Subject): string {
  return shorten((kind === "text" ? values?.[0] : [...values ?? []]) ?? null);
}

function shorten(value: Json | readonly string[]): string {
  const shown = JSON.stringify(value);
  return shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
}

function text(value: string | undefined): Subject {
  return { kind: "text", values: value === undefined ? undefined : [value] };
}

function lines(values: readonly string[] | undefined): Subject {
  return { kind: "lines", values };
}

function names(values: readonly string[] | undefined): Subject {
  return { kind: "names", values };
}
