import type { Command } from 'commander';
import { act, addPaging, collect, declareCommand, wholeNumber } from '../declare.ts';

export function addEmailCommands(program: Command): void {
  declareSend(program);
  const emails = program.command('emails').summary('read what was sent');
  const list = declareCommand(emails, 'list', {
    summary: 'list sent emails, newest first',
    description: 'Lists sent emails, newest first. Filters narrow the list together.',
    example: 'emails list --status bounced --limit 50',
  });
  addPaging(list)
    .option('--status <status>', 'only those whose furthest state is this one')
    .option('--api-key-id <id>', 'only those sent with this key')
    .option('--start-date <time>', 'only those created at this ISO 8601 time or later')
    .option('--end-date <time>', 'only those created at this ISO 8601 time or earlier')
    .option('--search <text>', 'only those whose subject, sender or recipient contains this')
    .action(act(async (session, _, options) => (await import('./list.ts')).listEmails(session, options)));
  declareCommand(emails, 'get', {
    summary: 'show one email and how far it has come',
    example: 'emails get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
  })
    .argument('<id>', 'the id that sending answered')
    .action(act(async (session, [id = '']) => (await import('./get.ts')).getEmail(session, id)));
}

function declareSend(program: Command): void {
  declareCommand(program, 'send', {
    summary: 'send an email',
    description:
      'Sends an email. --text and --html give the two bodies; --text-file and --html-file read them from a file, where - stands for standard input; a lone - takes the text from there.',
    example: "send --from 'You <you@playground.test>' --to someone@example.com --subject Hello --text 'It works.'",
  })
    .argument('[-]', 'take the text from standard input')
    .requiredOption('--from <address>', 'the sender, on a verified domain: address or Name <address>')
    .requiredOption('--to <address>', 'a recipient; repeat it for more', collect)
    .requiredOption('--subject <text>', 'the subject')
    .option('--text <text>', 'the plain text')
    .option('--text-file <file>', 'a file with the plain text')
    .option('--html <html>', 'the HTML')
    .option('--html-file <file>', 'a file with the HTML')
    .option('--cc <address>', 'a recipient whom everybody sees; repeatable', collect)
    .option('--bcc <address>', 'a recipient whom nobody sees; repeatable', collect)
    .option('--reply-to <address>', 'where answers go; repeatable', collect)
    .option('--header <field>', "a further header, 'Name: value'; repeatable", collect)
    .option('--tag <pair>', 'a tag, name=value, returned with every event; repeatable', collect)
    .option(
      '--attach <file>',
      "a file to attach; repeatable. 'logo.png;content_id=logo' shows it as cid:logo; filename= and content_type= work alike",
      collect,
    )
    .option('--scheduled-at <time>', 'when to send: an ISO 8601 time, 1 minute to 30 days from now')
    .option('--idempotency-key <key>', 'makes it safe to run the same command again within 24 hours')
    .option('--wait', 'wait until it was delivered or has failed, and say so by the exit status')
    .option('--wait-seconds <n>', 'how long to wait at most (default: 120)', wholeNumber)
    .action(act(async (session, [dash], options) => (await import('./send.ts')).sendEmail(session, dash, options)));
}
