/** Where the doctor looks. */
export interface Scene {
  /** The Bulkhead home. */
  home: string;
  /** The workspace. */
  workspace: string;
  /** Mend what can be mended. */
  fix: boolean;
}

/** One line of the doctor. */
export interface Finding {
  /** What it is about. */
  area: string;
  /** How it stands; `mended` is what was broken until now. */
  status: "ok" | "mended" | "warning" | "broken";
  /** What was found. */
  text: string;
  /** The command that mends it. */
  fix?: string;
}

/** One thing that the doctor looks at. */
export interface Check {
  /** The area, for errors of the check itself. */
  name: string;
  /** Looks, and mends when the scene says so. */
  look(scene: Scene): Promise<Finding[]>;
}
