import { bodyHash } from '../../protocol/dkim/index.ts';
import type { Mailbox } from '../../protocol/address/index.ts';
import type { DomainRow } from '../domains/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import type { Prepared } from './prepare.ts';
import type { SubmittedMessage } from './submitted-message.ts';

/** A message that this server wrote as a whole, because its form is not that of a send. */
export interface OwnMessage extends Pick<SubmittedMessage, 'forwarded' | 'asked'> {
  domain: DomainRow;
  /** The part of the address before the @, and the name of the sender. */
  local: string;
  name: string;
  to: Mailbox;
  tags: EmailDraft['tags'];
  composed: {
    subject: string;
    messageId: string;
    /** The body as the team sees it among its emails. */
    text: string;
    /** Headers with their line ends, with Date and Message-ID. */
    head: string;
    body: Buffer;
    isEightBit: boolean;
  };
}

/** Prepares such a message to be accepted; it is signed and otherwise sent unchanged. */
export function prepareOwnMessage(message: OwnMessage): Prepared {
  const { domain, local, name, to, tags, composed, forwarded, asked } = message;
  const { body } = composed;
  const address = `${local}@${domain.name}`;
  return {
    domain,
    templateId: null,
    draft: {
      headerMailboxes: { from: `${name} <${address}>`, to: [to.address], cc: [], bcc: [], replyTo: [] },
      from: { name, local, domain: domain.name, address, needsSmtpUtf8: false },
      recipients: [to],
      subject: composed.subject,
      html: null,
      text: composed.text,
      headers: [],
      tags,
      attachments: [],
      scheduledAt: null,
      topicId: null,
    },
    message: {
      spooled: {
        head: Buffer.from(composed.head),
        texts: [],
        files: [],
        body,
        fault: undefined,
        bodyBytes: body.length,
        bodyHash: bodyHash(body),
        isEightBit: composed.isEightBit,
        keep: () => Promise.resolve(undefined),
        read: (start, end) => Promise.resolve(body.subarray(start, end)),
        discard: () => Promise.resolve(),
      },
      head: composed.head,
      messageId: composed.messageId,
      hasDate: true,
      needsSmtpUtf8: false,
      files: [],
      ...(forwarded ? { forwarded } : {}),
      ...(asked ? { asked } : {}),
    },
  };
}
