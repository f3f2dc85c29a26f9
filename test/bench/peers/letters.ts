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

export const smallLetter = (dir: string): Letter => letterOf(dir, '4 KB', smallLoad(4096));
export const largeLetter = (dir: string): Letter => letterOf(dir, '100 KB', attachmentLoad(100 * 1024));
/** A message just under the 50 MiB that rasket takes, on the wire. */
export const hugeLetter = (dir: string): Letter => letterOf(dir, '50 MB', attachmentLoad(49_000_000));

/** The same content for everybody: rasket writes such a message from the body, the others are handed it. */
function letterOf(dir: string, name: string, { bodies }: Load): Letter {
  const content = JSON.parse(bodies[0] ?? '{}') as Content;
  const file = path.join(dir, `${name.replace(' ', '-')}.eml`);
  writeFileSync(file, messageOf(content));
  return { name, file, bodies };
}

/** Builds the message with the line ends of a file: smtp-source makes them those of the wire. */
function messageOf({ subject, html, text, attachments = [] }: Content): string {
  const alternative = partOf('multipart/alternative; boundary="alternative"', [
    `--alternative\n${partOf('text/plain; charset=us-ascii', [text])}`,
    `--alternative\n${partOf('text/html; charset=us-ascii', [html.replace('©', '&copy;').replace('–', '-')])}`,
    '--alternative--\n',
  ]);
  const files = attachments.map((file) =>
    partOf(
      `${file.content_type}; name="${file.filename}"\nContent-Disposition: attachment; filename="${file.filename}"\nContent-Transfer-Encoding: base64`,
      [file.content.replaceAll(/.{76}/g, '$&\n')],
    ),
  );
  const body =
    files.length === 0
      ? alternative
      : partOf('multipart/mixed; boundary="mixed"', [
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

const partOf = (type: string, lines: string[]): string => `Content-Type: ${type}\n\n${lines.join('\n')}\n`;
