import type { Command } from 'commander';
import { attachments } from '../../families/attachments.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily, addWords } from '../declare-family.ts';

export const addAttachmentCommands = (program: Command): void =>
  declareFamily(program, attachments, { add: declareDownload });

function declareDownload(parent: Command): void {
  const command = declareCommand(parent, 'download', {
    summary: 'save an attachment to a file',
    description:
      'Save the file in the current folder under the name it was sent with, without unsafe characters, or as --output says. An existing file is replaced only with --force.',
    example:
      'attachments download 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77 att_019a9c1e7d527c3a9a540b8f4c1f2e05 --output receipt.pdf',
  });
  addWords(command, attachments.get.path, true)
    .option('--output <file>', 'the file to write; - for standard output')
    .option('--force', 'replace an existing file')
    .action(
      act(async (session, [email = '', id = ''], options) =>
        (await import('./download.ts')).download(session, { email, id }, options),
      ),
    );
}
