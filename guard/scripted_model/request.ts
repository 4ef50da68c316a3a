/**
 * What an agent asked the model, read from any of the three protocols.
 *
 * @module
 */

/** Wire protocol of a request. */
export type ModelProtocol = "messages" | "responses" | "chat";

/** A tool the agent offers to the model. */
export interface OfferedTool {
  /** Name the model calls it by. */
  readonly name: string;
  /** Namespace it stands in (Responses only). */
  readonly namespace?: string;
  /** `custom` tools take a text, `function` tools an object; `search` finds tools not listed yet. */
  readonly kind: "function" | "custom" | "search";
  /** Names of the arguments, where the agent's schema lists them. */
  readonly parameters: readonly string[];
}

/** The result of one tool call, as the agent sent it back to the model. */
export interface ToolResult {
  /** Id of the call. */
  readonly callId: string;
  /** Everything textual the result says. */
  readonly content: string;
  /** Whether the agent marked it as an error (Messages only: the other protocols have no mark). */
  readonly isError: boolean;
}

/** One request, in the terms the script knows. */
export interface ModelRequest {
  /** Wire protocol. */
  readonly protocol: ModelProtocol;
  /** Model name asked for. */
  readonly model: string;
  /** Whether the answer is to be streamed. */
  readonly stream: boolean;
  /** System or developer text. */
  readonly system: string;
  /** Every text said by the user, in order; tool results are not among them. */
  readonly userTexts: readonly string[];
  /** Tools on offer. */
  readonly tools: readonly OfferedTool[];
  /** Every tool result in the history, in order. */
  readonly results: readonly ToolResult[];
}

/** A call as it goes to the agent. */
export interface AnswerCall {
  /** Id of the call. */
  readonly id: string;
  /** Tool name. */
  readonly name: string;
  /** Namespace of the tool. */
  readonly namespace?: string;
  /** `custom` tools take a text, all others JSON. */
  readonly kind: "function" | "custom" | "search";
  /** The arguments as text: JSON for functions. */
  readonly arguments: string;
}

/** An answer of the model, before it is put into a protocol. */
export interface Answer {
  /** Id of the answer. */
  readonly id: string;
  /** Model name to claim. */
  readonly model: string;
  /** Thinking, possibly empty. */
  readonly thinking: string;
  /** Text in the pieces it is streamed in. */
  readonly text: readonly string[];
  /** Calls. */
  readonly calls: readonly AnswerCall[];
  /** Why it ends. */
  readonly stop: "end_turn" | "tool_use" | "max_tokens" | "refusal";
  /** Tokens claimed. */
  readonly usage: { readonly input: number; readonly output: number };
}

/** One server-sent event; `pace` marks those that wait for `chunkDelayMs`. */
export interface ModelEvent {
  /** Event name, where the protocol has one. */
  readonly event?: string;
  /** The data line. */
  readonly data: unknown;
  /** Comes after the pause between pieces. */
  readonly pace?: boolean;
}

/** How one protocol reads requests and writes answers. */
export interface Protocol {
  /** Reads a request body. */
  read(body: unknown): ModelRequest;
  /** A whole answer as one JSON body. */
  whole(answer: Answer): unknown;
  /** The same answer as events. */
  events(answer: Answer): Iterable<ModelEvent>;
  /** Line that ends the stream after the last event, if any. */
  readonly terminator?: string;
  /** The body of an error answer. */
  error(status: number, message: string): unknown;
  /** The event of an error inside a stream. */
  errorEvent(status: number, message: string): ModelEvent;
}
