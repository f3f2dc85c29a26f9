import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Actor } from '../../tenancy/access/index.ts';

/** A reply that refuses a step of the dialogue: code, enhanced code (RFC 3463), and one clause with a way out. */
export class SmtpReply extends Error {
  readonly responseCode: number;

  constructor(code: number, enhanced: string, text: string, because?: unknown) {
    super(`${enhanced} ${text}`, because === undefined ? undefined : { cause: because });
    this.responseCode = code;
  }
}

/** Returns the reply to errors that the client must not see: the cause is in the log. */
export const temporaryTrouble = (because?: unknown): SmtpReply =>
  new SmtpReply(451, '4.3.0', 'Temporary local problem; nothing was accepted, send it again later', because);

/** RFC 6531 §3.4: an address with a local part beyond ASCII needs SMTPUTF8 at MAIL; a domain can be written in ASCII. */
export function mustFitCharset({ envelope }: Session, address: string): void {
  if (address.includes('\ufffd')) throw new SmtpReply(501, '5.1.3', 'The address is not UTF-8');
  const local = address.slice(0, address.lastIndexOf('@'));
  if (envelope.smtpUtf8 || !/[^\0-\x7f]/.test(local)) return;
  throw new SmtpReply(553, '5.6.7', 'An address with non-ASCII characters needs the parameter SMTPUTF8 of MAIL');
}

export type SmtpServiceName = 'submission' | 'receiving';

/** The API key that a client has logged in with. */
export interface Login {
  teamId: string;
  actor: Actor & { kind: 'smtp_credential' };
}

/** A client's connection; `envelope` is that of the transaction under way. */
export type Session = Omit<SMTPServerSession, 'user'> & { user?: Login };
export type PathCommand = SMTPServerAddress;
export type Content = SMTPServerDataStream;

/**
 * Handles the dialogue of a port. A step resolves to accept the command and throws an SmtpReply to refuse it; any other
 * error is ours, and the client gets a temporary refusal.
 */
export interface SmtpHandler {
  mail(session: Session, from: PathCommand): Promise<void>;
  rcpt(session: Session, to: PathCommand): Promise<void>;
  /** Reads the content, dots removed and up to `smtp.message_bytes` long, and returns the text of the 250. */
  data(session: Session, content: Content): Promise<string>;
  /** Called once when a connection has ended, whatever it did. */
  closed(session: Session): void;
}

export interface Credentials {
  username: string;
  password: string;
  /** The authorization identity of AUTH PLAIN (RFC 4616 §2); empty if none was given. */
  actsFor: string;
}

/** The listener for applications: accepts nothing from a client that has not logged in. */
export interface SubmissionHandler extends SmtpHandler {
  login(session: Session, credentials: Credentials): Promise<Login>;
}

/** The listener for the world: clients need no login. */
export interface ReceivingHandler extends SmtpHandler {
  /** The delay of the greeting: spam programs that do not wait for it give themselves away. */
  greetingDelayMs: number;
}

export interface SmtpHandlers {
  submission?: SubmissionHandler | undefined;
  receiving?: ReceivingHandler | undefined;
}

/** The protocol of the connection, as RFC 3848 names it. */
export const readProtocol = ({ transmissionType }: Session): string =>
  typeof transmissionType === 'string' ? transmissionType : 'ESMTP';
