/**
 * The wake-ups that an agent has scheduled for itself: each will start a turn that nobody writes.
 *
 * @module
 */

type Kind = "once" | "recurring";

/** What the calls of a session have scheduled. */
export class ScheduledWakes {
  readonly #wakes = new Map<string, Kind>();
  readonly #calls = new Map<string, { tool: string; kind: Kind }>();

  /** How many are scheduled. */
  get size(): number {
    return this.#wakes.size;
  }

  /**
   * A call that may schedule something, or take it back; it counts once it is answered.
   *
   * @param id The call.
   * @param tool The tool.
   * @param input Its arguments.
   */
  called(id: string, tool: string, input: unknown): void {
    if (tool === "ScheduleWakeup" || tool === "CronDelete") {
      this.#calls.set(id, { tool, kind: "once" });
    } else if (tool === "CronCreate") {
      this.#calls.set(id, { tool, kind: isOnce(input) ? "once" : "recurring" });
    }
  }

  /**
   * A call was answered.
   *
   * @param id The call.
   * @param failed Whether it failed.
   */
  answered(id: string, failed: boolean): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    if (failed) return;
    if (call.tool !== "CronDelete") {
      this.#wakes.set(id, call.kind);
      return;
    }
    // The agent numbers its schedules itself and the frames do not say how: one deleted is one less.
    this.#drop(this.#first("recurring") ?? this.#first("once"));
  }

  /** A turn that nobody wrote has used up a one-time wake-up. */
  fired(): void {
    this.#drop(this.#first("once"));
  }

  #drop(id: string | undefined): void {
    if (id !== undefined) this.#wakes.delete(id);
  }

  #first(kind: Kind): string | undefined {
    for (const [id, found] of this.#wakes) if (found === kind) return id;
    return undefined;
  }
}

function isOnce(input: unknown): boolean {
  return typeof input === "object" && input !== null &&
    "recurring" in input && input.recurring === false;
}
