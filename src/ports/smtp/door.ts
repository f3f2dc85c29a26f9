import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Actor } from '../../tenancy/access/index.ts';

export type DoorName = 'submission' | 'receiving';

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
export interface Door {
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

/** For applications: accepts nothing from a client that has not logged in. */
export interface SubmissionDoor extends Door {
  login(session: Session, credentials: Credentials): Promise<Login>;
}

/** For the world: clients need no login. */
export interface ReceivingDoor extends Door {
  /** How long the greeting is delayed: spam programs that do not wait for it give themselves away. */
  greetingDelayMs: number;
}

export interface Doors {
  submission?: SubmissionDoor | undefined;
  receiving?: ReceivingDoor | undefined;
}

/** The protocol of the connection, as RFC 3848 names it. */
export const protocolOf = ({ transmissionType }: Session): string =>
  typeof transmissionType === 'string' ? transmissionType : 'ESMTP';
