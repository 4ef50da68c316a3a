/** Placeholder. @module */
export {};
