import type { MessageHead } from '../../../protocol/read-message/index.ts';
import type { Authentication } from '../../../resources/received-emails/index.ts';

/** How much of what a stranger wrote at the top of a message stands in its row and its event; the source has the rest. */
export interface HeadLimits {
  subjectChars: number;
  /** Of one mailbox and of the Message-ID. */
  textChars: number;
  /** Of all lists of addresses together. */
  listChars: number;
  signatures: number;
}

export const LIMITS_OF_KEPT: HeadLimits = {
  subjectChars: 998,
  textChars: 998,
  listChars: 16 * 1024,
  signatures: 20,
};
/** Of a message that counts against no storage. */
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

/** What a stranger's signature says of itself may be of any length, and there may be any number of them. */
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

/** Half an address is another one: the name goes before it, and what is still too long is left out. */
function boundedMailbox(mailbox: string, charsMax: number): string {
  if (mailbox.length <= charsMax) return mailbox;
  const address = BEHIND_A_NAME.exec(mailbox)?.[1] ?? '';
  return address.length <= charsMax ? address : '';
}

/** A local part in quotes may hold a < as well. */
const BEHIND_A_NAME = /^(?:"(?:[^"\\]|\\.)*"|[^"<]*) <(.+)>$/;

function cut(text: string, charsMax: number): string {
  const kept = text.slice(0, charsMax);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}
