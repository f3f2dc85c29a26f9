import type { MessageHead } from '../../protocol/read-message/index.ts';
import type { Authentication } from '../received-emails/index.ts';

/** How much of a message's head is stored in its row and its event; the source has all of it. */
export interface HeadLimits {
  subjectChars: number;
  /** For one mailbox, and for the Message-ID. */
  textChars: number;
  /** For all lists of addresses together. */
  listChars: number;
  signatures: number;
}

export const LIMITS_OF_KEPT: HeadLimits = {
  subjectChars: 998,
  textChars: 998,
  listChars: 16 * 1024,
  signatures: 20,
};
/** For a message that counts against no storage. */
export const LIMITS_OF_DROPPED: HeadLimits = { subjectChars: 200, textChars: 320, listChars: 1024, signatures: 3 };

export function boundedHead(head: MessageHead, limits: HeadLimits): MessageHead {
  let left = limits.listChars;
  const fitting = (list: readonly string[]): string[] => {
    const kept: string[] = [];
    for (const one of list) {
      const mailbox = boundedMailbox(one, limits.textChars);
      if (mailbox.length > left) break;
      left -= mailbox.length;
      if (mailbox !== '') kept.push(mailbox);
    }
    return kept;
  };
  const replyTo = fitting(head.replyTo);
  return {
    from: boundedMailbox(head.from, limits.textChars),
    replyTo,
    to: fitting(head.to),
    cc: fitting(head.cc),
    bcc: fitting(head.bcc),
    subject: cut(head.subject, limits.subjectChars),
    messageId: cut(head.messageId, limits.textChars),
  };
}

/** A message may have any number of signatures, with names of any length. */
export function boundedAuthentication(authentication: Authentication, { signatures }: HeadLimits): Authentication {
  const { spf, dkim, dmarc } = authentication;
  return {
    ...authentication,
    spf: { ...spf, domain: nameOrNull(spf.domain) },
    dkim: dkim.slice(0, signatures).map((one) => ({
      ...one,
      domain: nameOrNull(one.domain),
      selector: nameOrNull(one.selector),
    })),
    dmarc: { ...dmarc, domain: nameOrNull(dmarc.domain) },
  };
}

const nameOrNull = (name: string | null): string | null => (name === null || name.length > 253 ? null : name);

/** An address is never cut, because half of it would be another address: the name is left out first, then the mailbox. */
function boundedMailbox(mailbox: string, charsMax: number): string {
  if (mailbox.length <= charsMax) return mailbox;
  const address = BEHIND_A_NAME.exec(mailbox)?.[1] ?? '';
  return address.length <= charsMax ? address : '';
}

/** A quoted local part may contain a < as well. */
const BEHIND_A_NAME = /^(?:"(?:[^"\\]|\\.)*"|[^"<]*) <(.+)>$/;

function cut(text: string, charsMax: number): string {
  const kept = text.slice(0, charsMax);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}
