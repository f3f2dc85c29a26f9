import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Actor } from '../resources/access/index.ts';

export type DoorName = 'submission' | 'receiving';

/** Who has logged in. */
export interface Login {
  teamId: string;
  actor: Actor & { kind: 'smtp_credential' };
}

/** A client's connection; `envelope` is that of the transaction under way. */
export type Session = Omit<SMTPServerSession, 'user'> & { user?: Login };
export type PathCommand = SMTPServerAddress;
export type Content = SMTPServerDataStream;

/**
 * What a port does with the dialogue. Each step resolves to take the command and throws an SmtpReply to refuse it; any
 * other error is a trouble of ours, which the client hears as a temporary one.
 */
export interface Door {
  mail(session: Session, from: PathCommand): Promise<void>;
  rcpt(session: Session, to: PathCommand): Promise<void>;
  /** Reads the content, which is without dots and up to `smtp.message_bytes` long, and answers the text of the 250. */
  data(session: Session, content: Content): Promise<string>;
  /** Called once for a connection that has ended, whatever it did. */
  closed(session: Session): void;
}

export interface Credentials {
  username: string;
  password: string;
  /** The authorization identity of AUTH PLAIN (RFC 4616 §2); empty where none was given. */
  actsFor: string;
}

/** For applications: nothing is taken from who has not logged in. */
export interface SubmissionDoor extends Door {
  login(session: Session, credentials: Credentials): Promise<Login>;
}

/** For the world: everybody may call. */
export interface ReceivingDoor extends Door {
  /** How long the greeting is held back, so that who cannot wait for it gives itself away. */
  greetingDelayMs: number;
}

export interface Doors {
  submission?: SubmissionDoor | undefined;
  receiving?: ReceivingDoor | undefined;
}

/** By which a message comes, as RFC 3848 names it. */
export const protocolOf = ({ transmissionType }: Session): string =>
  typeof transmissionType === 'string' ? transmissionType : 'ESMTP';
