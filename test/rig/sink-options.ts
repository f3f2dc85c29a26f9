import type { Certificate } from './tls.ts';

export type SinkTls = 'none' | 'starttls' | 'implicit' | 'bad-cert' | 'broken-handshake' | 'refused' | 'injected';

/** The credentials that clients need before they may send. */
export interface SinkAuth {
  user: string;
  /** The password of PLAIN, LOGIN and CRAM-MD5, and the token of XOAUTH2. */
  secret: string;
  /** The mechanisms that EHLO offers; all that the sink knows by default. */
  mechanisms?: readonly string[];
  /** The answer to every login, whether it is right or wrong. */
  answer?: string;
  /** Number of logins that are answered with `answer`; later ones are checked. All by default. */
  answers?: number;
}

export interface SinkOptions {
  auth?: SinkAuth;
  host?: '127.0.0.1' | '::1' | (string & {});
  port?: number;
  /** Additional addresses at which it listens on the same port. */
  alsoAt?: readonly string[];
  tls?: SinkTls;
  certificate?: Certificate;
  /** Replaces the usual greeting; 'silent' never greets, 'drop' closes. */
  greeting?: string;
  pipelining?: boolean;
  ehlo?: boolean;
  smtpUtf8?: boolean;
  size?: number;
  /** Keywords that EHLO has in addition to those of the other options. */
  extensions?: readonly string[];
  multiLine?: boolean;
  byteByByte?: boolean;
  /** After that many messages, MAIL is answered with 421. */
  messagesPerConnection?: number;
  /** DATA is answered with 354 even when no recipient was accepted. */
  lenientData?: boolean;
  /** Answers any command first; undefined leaves it to the sink. */
  script?: (
    command: string,
    session: { messages: number; number: number; peer: string },
  ) => string | 'drop' | 'hang' | undefined;
  /** The answer to each final dot. */
  refuseContent?: string;
  /** Command after which the peer reads no further. */
  stopReadingAt?: string;
  /** Bytes of content that each connection reads before it waits for `readOn`. */
  contentAllowance?: number;
  /** false counts messages without keeping them. */
  keep?: boolean;
  onMessage?: (message: SinkMessage) => void;
  /** Sees the content of each message at its final dot, before the dot is answered or refused. */
  onContent?: (data: Buffer) => void;
}

export interface SinkMessage {
  mailFrom: string;
  rcptTo: string[];
  /** The content without dot-stuffing and the final dot. */
  data: Buffer;
  tls: boolean;
  connection: number;
  /** The address that the message came from. */
  peer: string;
  at: number;
}

export const NO_COUNTS = {
  connections: 0,
  ehlo: 0,
  helo: 0,
  starttls: 0,
  auth: 0,
  secured: 0,
  mail: 0,
  rcpt: 0,
  data: 0,
  rset: 0,
  quit: 0,
  accepted: 0,
  refused: 0,
  dropped: 0,
  /** Commands that arrived before the previous one was answered although PIPELINING was not offered. */
  tooEarly: 0,
};
export type SinkCounts = typeof NO_COUNTS;

export interface Sink {
  port: number;
  host: string;
  certificate: Certificate;
  messages: SinkMessage[];
  counts: SinkCounts;
  open: number;
  /** The mechanism of each login that succeeded. */
  logins: string[];
  /** The commands of each connection, as they arrived. */
  commands: string[];
  /** Resolves as soon as that many messages were accepted, or the predicate holds. */
  waitFor(wanted: number | ((sink: Sink) => boolean)): Promise<void>;
  /** Returns how many of slow@ and slow-rcpt@ have arrived and wait for their answer. */
  held(): number;
  /** slow@ and slow-rcpt@ are answered only after this. */
  openGate(): void;
  /** Answers the one of them that has waited longest. */
  answerOne(): void;
  /** Bytes of content read so far. */
  contentBytes: number;
  /** Lets each connection read that much more, and every new one as much. */
  readOn(contentBytes: number): void;
  /** Closes the connections that clients left open, as a server does that has waited long enough. */
  dropConnections(): void;
  close(): Promise<void>;
}
