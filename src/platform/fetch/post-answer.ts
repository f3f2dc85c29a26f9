import type { FetchFault } from './fetch-answer.ts';
import type { InterimWrong } from './interim-answers.ts';

export interface Post {
  /** Path and query, as they stand in the URL. */
  path: string;
  /** All that are sent but those of the connection and the body itself. */
  headers: Record<string, string>;
  body: string;
}

export type PostFault =
  | Extract<FetchFault, { kind: 'blocked' | 'unreachable' | 'tls' | 'interrupted' | 'timeout' }>
  /** Something came, and it was no answer; `reason` is what the parser, in its own words, found wrong. */
  | { kind: 'unreadable'; wrong: InterimWrong | 'headers' | 'length' }
  | { kind: 'unreadable'; wrong: 'syntax'; reason: string };

export type PostAnswer =
  /**
   * Any status at all; redirects are never followed. `isCut`: its body did not end in time, and its connection went with it.
   * `retryAfter`: that header, as it was sent.
   */
  | { kind: 'answered'; status: number; body: string; isCut?: true; retryAfter?: string }
  /** `because` is for the log alone. */
  | { kind: 'failed'; fault: PostFault; because?: unknown };

/** A request under way. */
export interface Posted {
  /** Never rejects. */
  answer: Promise<PostAnswer>;
  /** Ends it, whatever it is at, with the fault `timeout`; when it is over, nothing happens. */
  giveUp(): void;
}

/** Connections to one host, kept open between requests. */
export interface PostPool {
  /**
   * Of the answer's body, `answerBytesMax` bytes are kept, as text in UTF-8; what comes after them is read for a moment,
   * so that the connection can be used again, and then cut. A request has no time limit but its caller's patience.
   */
  post(request: Post, answerBytesMax: number): Posted;
  /** Takes nothing more, lets what is under way end for a while, and closes; what has not ended by then is cut. */
  close(): Promise<void>;
  /** Cuts every connection. */
  cut(): Promise<void>;
}
