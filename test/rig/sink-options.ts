import type { Certificate } from './tls.ts';

export type SinkTls = 'none' | 'starttls' | 'implicit' | 'bad-cert' | 'broken-handshake' | 'refused' | 'injected';

/** What clients have to prove before they may send. */
export interface SinkAuth {
  user: string;
  /** The password of PLAIN, LOGIN and CRAM-MD5, and the token of XOAUTH2. */
  secret: string;
  /** What EHLO offers; everything that the sink knows unless given. */
  mechanisms?: readonly string[];
  /** The answer to every login, whether it is right or wrong. */
  answer?: string;
  /** Logins that are answered with `answer`; the later ones are checked. All unless given. */
  answers?: number;
}

export interface SinkOptions {
  auth?: SinkAuth;
  host?: '127.0.0.1' | '::1' | (string & {});
  port?: number;
  /** Addresses at which it listens as well, on the same port. */
  alsoAt?: readonly string[];
  tls?: SinkTls;
  certificate?: Certificate;
  /** Instead of the usual greeting; 'silent' never greets, 'drop' closes. */
  greeting?: string;
  pipelining?: boolean;
  ehlo?: boolean;
  smtpUtf8?: boolean;
  size?: number;
  /** Keywords that EHLO names beside those of the other options. */
  extensions?: readonly string[];
  multiLine?: boolean;
  byteByByte?: boolean;
  /** After that many messages, MAIL is answered with 421. */
  messagesPerConnection?: number;
  /** DATA is answered with 354 even when no recipient was accepted. */
  lenientData?: boolean;
  /** Has the first word on any command; undefined leaves it to the sink. */
  script?: (command: string, session: { messages: number; number: number }) => string | 'drop' | 'hang' | undefined;
  /** The answer to each final dot. */
  refuseContent?: string;
  /** After this command the peer reads no further. */
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
  /** Without dot-stuffing and the final dot. */
  data: Buffer;
  tls: boolean;
  connection: number;
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
  /** Commands that came before the previous one was answered although PIPELINING was not offered. */
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
  /** What the sink saw, per connection: commands as they came. */
  commands: string[];
  /** Resolves as soon as that many messages were accepted, or the predicate holds. */
  waitFor(wanted: number | ((sink: Sink) => boolean)): Promise<void>;
  /** How many of slow@ and slow-rcpt@ have come and wait for their answer. */
  held(): number;
  /** slow@ and slow-rcpt@ are answered only after this. */
  openGate(): void;
  /** Answers the one of them that has waited longest. */
  answerOne(): void;
  /** Bytes of content read so far. */
  contentBytes: number;
  /** Lets each connection read so much more, and every new one so much. */
  readOn(contentBytes: number): void;
  /** Closes what clients left open, as a server does that has waited long enough. */
  dropConnections(): void;
  close(): Promise<void>;
}
