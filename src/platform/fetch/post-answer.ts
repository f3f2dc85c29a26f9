import type { FetchFault } from './fetch-answer.ts';

export interface Post {
  /** Path and query, as they stand in the URL. */
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface PostLimits {
  /** Ends the request, whatever it is at. There is no time limit but this one. */
  signal: AbortSignal;
  /** What is kept of the answer's body; what comes after it is not waited for. */
  answerBytesMax: number;
}

export type PostFault = Extract<FetchFault, { kind: 'blocked' | 'unreachable' | 'tls' | 'interrupted' | 'timeout' }>;

export type PostAnswer =
  /** Any status at all; redirects are never followed. */
  | { kind: 'answered'; status: number; body: string }
  /** `because` is for the log and for nobody else. */
  | { kind: 'failed'; fault: PostFault; because?: unknown };

/** Connections to one host, kept open between requests. */
export interface PostLine {
  post(request: Post, limits: PostLimits): Promise<PostAnswer>;
  /** Takes nothing more, lets what is under way end, and closes. */
  close(): Promise<void>;
  /** Cuts every connection. */
  cut(): Promise<void>;
}
