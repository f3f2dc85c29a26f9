import type { InboxEmailData } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { DraftAttachment, EmailDraft, EmailRow } from '../../../mail/emails/index.ts';

/** What somebody wrote; the rest is made. */
export interface WrittenMail {
  to: string[] | undefined;
  cc: string[];
  bcc: string[];
  subject: string | null;
  html: string | null;
  text: string | null;
  headers: Record<string, string> | null;
  files: DraftAttachment[];
}

export interface ComposedMail {
  id: string;
  draft: EmailDraft;
  beside(tx: Executor, email: EmailRow): Promise<InboxEmailData>;
}
