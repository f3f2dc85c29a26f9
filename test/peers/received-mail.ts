import { readFileSync } from 'node:fs';

export interface ReceivedMail {
  /** The mailbox it lies in. */
  to: string;
  returnPath: string;
  messageId: string;
  /** The message as it was sent: without the lines Postfix put on top, and with CRLF at line ends, as it was on the wire. */
  content: Buffer;
}

/** Postfix ends lines with LF on disk and puts its trace on top; below that nothing may differ from what it was sent. */
export function readMaildirFile(file: string): ReceivedMail {
  const stored = readFileSync(file, 'latin1');
  const start = stored.search(/^(?!Return-Path:|X-Original-To:|Delivered-To:|Received:|[ \t])/m);
  const trace = Buffer.from(stored.slice(0, start), 'latin1').toString('utf8');
  const content = stored.slice(start).replaceAll('\n', '\r\n');
  return {
    to: /^Delivered-To: (.*)$/m.exec(trace)?.[1] ?? '',
    returnPath: /^Return-Path: <(.*)>$/m.exec(trace)?.[1] ?? '',
    messageId: /^Message-ID:\s*(\S+)/im.exec(content)?.[1] ?? '',
    content: Buffer.from(content, 'latin1'),
  };
}
