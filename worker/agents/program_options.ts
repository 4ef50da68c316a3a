/**
 * Which program of an agent is driven, and in what surroundings.
 *
 * @module
 */

/** What the drivers of agents with a program of their own have in common. */
export interface ProgramOptions {
  /**
   * The program, and what stands before our arguments.
   *
   * @default the agent's native program, found by its name on the PATH
   */
  readonly command?: readonly string[];
  /** Variables on top of the inherited ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** The guard's marker: it decides when the worker is gone. */
  readonly marker?: string;
}
