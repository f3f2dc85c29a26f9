import type { Command } from 'commander';
import { act, addPaging, declareCommand } from '../declare.ts';

const EMAIL = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const ATTACHMENT = 'att_019a9c1e7d527c3a9a540b8f4c1f2e05';

export function addAttachmentCommands(program: Command): void {
  const attachments = program.command('attachments').summary('the files that were sent with an email');
  const list = declareCommand(attachments, 'list', {
    summary: 'list the attachments of an email, in their order',
    example: `attachments list ${EMAIL}`,
  });
  addPaging(list)
    .argument('<email>', 'the id of the email')
    .action(act(async (session, [email = ''], options) => (await import('./list.ts')).list(session, email, options)));
  declareCommand(attachments, 'get', {
    summary: 'show one attachment and a link to it that is good for 15 minutes',
    example: `attachments get ${EMAIL} ${ATTACHMENT}`,
  })
    .argument('<email>', 'the id of the email')
    .argument('<attachment>', 'the id of the attachment (att_…)')
    .action(act(async (session, [email = '', id = '']) => (await import('./get.ts')).get(session, email, id)));
  declareCommand(attachments, 'download', {
    summary: 'save the file of an attachment',
    description:
      'Saves the file in this folder under the name it was sent with, as far as that is harmless, or wherever --output says. A file that is there already is kept unless --force is given.',
    example: `attachments download ${EMAIL} ${ATTACHMENT} --output receipt.pdf`,
  })
    .argument('<email>', 'the id of the email')
    .argument('<attachment>', 'the id of the attachment (att_…)')
    .option('--output <file>', 'where to save it; - is standard output')
    .option('--force', 'replace a file of that name')
    .action(
      act(async (session, [email = '', id = ''], options) =>
        (await import('./download.ts')).download(session, { email, id }, options),
      ),
    );
}
