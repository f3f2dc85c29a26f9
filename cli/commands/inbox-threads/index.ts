import type { Command } from 'commander';
import { inboxChannels, inboxDrafts, inboxEmails, inboxes, inboxSearch, inboxThreads } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily, addWords } from '../declare-family.ts';
import { addOnce } from '../command-options.ts';

export function addInboxCommands(program: Command): void {
  declareFamily(program, inboxes);
  declareFamily(program, inboxThreads, {
    add: declareRead,
  });
  declareFamily(program, inboxSearch);
  declareFamily(program, inboxEmails, {
    actions: {
      reply: { add: addOnce, run: async (...call) => (await import('./answer.ts')).answer(...call) },
      render: { run: async (...call) => (await import('./answer.ts')).renderTemplate(...call) },
      forward: {
        add: (command) => addOnce(command).option('--edit', 'write the text in $EDITOR; an empty text is not sent'),
        run: async (...call) => (await import('./answer.ts')).answer(...call),
      },
    },
  });
  declareFamily(program, inboxDrafts, {
    actions: { edit: { run: async (...call) => (await import('./edit-draft.ts')).editDraft(...call) } },
  });
  declareFamily(program, inboxChannels);
}

function declareRead(parent: Command): void {
  const read = declareCommand(parent, 'read', {
    summary: 'show a whole thread as text, the newest email last',
    description:
      'Show the emails of a thread as text, the newest last. The HTML of an email without text is converted to text; nothing is downloaded. With --json, each email is one line, as the API returns it.',
    example: 'inbox read support@example.com 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2f03',
  });
  addWords(read, inboxThreads.get.path, true)
    .option('--mark-read', 'mark the thread as read')
    .action(
      act(async (session, words, options) => (await import('./read-thread.ts')).readThread(session, words, options)),
    );
}
