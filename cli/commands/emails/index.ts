import type { Command } from 'commander';
import { EMAIL, emailAttempts, emailEvents, emails } from '../../families/emails.ts';
import { act, declareCommand, wholeNumber } from '../declare.ts';
import { declareFamily, declareTail, addWords } from '../declare-family.ts';
import { nameFields, addOnce } from '../command-options.ts';

export function addEmailCommands(program: Command): void {
  declareFamily(program, emails, {
    add: (parent) => void declareTail(parent, emails.list),
    actions: {
      send: {
        description:
          'Send an email. --text and --html give the two bodies; --text-file and --html-file read them from a file, or from standard input if the file is -. A single - as the argument reads the text from standard input.',
        add: (command) =>
          nameFields(addOnce(command.argument('[-]', 'read the text from standard input')), { template: '--template' })
            .option('--wait', 'wait until it is delivered or has failed; the exit status tells which')
            .option('--wait-seconds <n>', 'wait at most this long (default: 120)', wholeNumber),
        run: async (...call) => (await import('./send.ts')).sendEmail(...call),
      },
      batch: {
        add: (command) => nameFields(addOnce(command), { '*': 'email' }),
        run: async (...call) => (await import('./batch.ts')).sendBatch(...call),
      },
    },
  });
  declareFamily(program, emailEvents);
  declareFamily(program, emailAttempts);
  declareExplain(program);
}

function declareExplain(program: Command): void {
  const explain = declareCommand(program, 'explain', {
    summary: 'show what happened to an email, why, and what happens next',
    example: 'explain 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
  });
  addWords(explain, { email_id: EMAIL }, true)
    .option('--transcript', 'show the SMTP dialogue with each mail server')
    .action(
      act(async (session, [id = ''], options) => (await import('./explain.ts')).explainEmail(session, id, options)),
    );
}
