import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { attachmentLoad, SENDER_DOMAIN, smallLoad, type Load } from '../messages.ts';
import type { Letter } from './peer.ts';

interface Content {
  subject: string;
  html: string;
  text: string;
  attachments?: { filename: string; content: string; content_type: string }[];
}

export const smallLetter = (dir: string): Letter => buildLetter(dir, '4 KB', smallLoad(4096));
export const largeLetter = (dir: string): Letter => buildLetter(dir, '100 KB', attachmentLoad(100 * 1024));
/** Just under the 50 MiB that rasket takes, on the wire. */
export const hugeLetter = (dir: string): Letter => buildLetter(dir, '50 MB', attachmentLoad(49_000_000));

/** Returns a letter with the same content for all peers: rasket composes it from the body, the others get it ready. */
function buildLetter(dir: string, name: string, { bodies }: Load): Letter {
  const content = JSON.parse(bodies[0] ?? '{}') as Content;
  const file = path.join(dir, `${name.replace(' ', '-')}.eml`);
  writeFileSync(file, buildMessage(content));
  return { name, file, bodies };
}

/** Returns the message with LF line ends, which smtp-source turns into CRLF. */
function buildMessage({ subject, html, text, attachments = [] }: Content): string {
  const alternative = formatPart('multipart/alternative; boundary="alternative"', [
    `--alternative\n${formatPart('text/plain; charset=us-ascii', [text])}`,
    `--alternative\n${formatPart('text/html; charset=us-ascii', [html.replace('©', '&copy;').replace('–', '-')])}`,
    '--alternative--\n',
  ]);
  const files = attachments.map((file) =>
    formatPart(
      `${file.content_type}; name="${file.filename}"\nContent-Disposition: attachment; filename="${file.filename}"\nContent-Transfer-Encoding: base64`,
      [file.content.replaceAll(/.{76}/g, '$&\n')],
    ),
  );
  const body =
    files.length === 0
      ? alternative
      : formatPart('multipart/mixed; boundary="mixed"', [
          ...[alternative, ...files].map((part) => `--mixed\n${part}`),
          '--mixed--\n',
        ]);
  const headers = [
    `From: The Sender <hello@${SENDER_DOMAIN}>`,
    'To: Reader <reader@mail0.reader.test>',
    `Reply-To: help@${SENDER_DOMAIN}`,
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <bench@${SENDER_DOMAIN}>`,
    'MIME-Version: 1.0',
  ];
  return `${headers.join('\n')}\n${body}`;
}

const formatPart = (type: string, lines: string[]): string => `Content-Type: ${type}\n\n${lines.join('\n')}\n`;
