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
          'Sends an email. --text and --html give the two bodies; --text-file and --html-file read them from a file, where - stands for standard input; a lone - takes the text from there.',
        add: (command) =>
          nameFields(addOnce(command.argument('[-]', 'take the text from standard input')), { template: '--template' })
            .option('--wait', 'wait until it was delivered or has failed, and say so by the exit status')
            .option('--wait-seconds <n>', 'how long to wait at most (default: 120)', wholeNumber),
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
    summary: 'say what became of an email, why, and what comes next',
    example: 'explain 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
  });
  addWords(explain, { email_id: EMAIL }, true)
    .option('--transcript', 'with what was said to each mail server')
    .action(
      act(async (session, [id = ''], options) => (await import('./explain.ts')).explainEmail(session, id, options)),
    );
}
