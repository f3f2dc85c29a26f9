import type { Command } from 'commander';
import { receivedAttachments, receivedEmails } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily, addWords } from '../declare-family.ts';

export function addReceivedEmailCommands(program: Command): void {
  declareFamily(program, receivedEmails, { add: declareRaw });
  declareFamily(program, receivedAttachments, { add: declareDownload });
}

function declareRaw(parent: Command): void {
  const command = declareCommand(parent, 'raw', {
    summary: 'save the source of a received email',
    description: 'Save the message exactly as it was received, as raw.eml in the current folder or as --output says.',
    example: 'received raw 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91 --output question.eml',
  });
  withOutput(addWords(command, receivedEmails.get.path, true)).action(
    act(async (session, [email = ''], options) => (await import('./download.ts')).saveRaw(session, email, options)),
  );
}

function declareDownload(parent: Command): void {
  const command = declareCommand(parent, 'download', {
    summary: 'save an attachment to a file',
    description:
      'Save the file in the current folder under the name it was received with, without unsafe characters, or as --output says. An existing file is replaced only with --force.',
    example:
      'received download 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91 att_019a9c1e7d527c3a9a540b8f4c1f2e92 --output screenshot.png',
  });
  withOutput(addWords(command, receivedAttachments.get.path, true)).action(
    act(async (session, [email = '', id = ''], options) =>
      (await import('./download.ts')).saveAttachment(session, { email, id }, options),
    ),
  );
}

const withOutput = (command: Command): Command =>
  command
    .option('--output <file>', 'the file to write; - for standard output')
    .option('--force', 'replace an existing file');
