import { InvalidArgumentError, type Command } from 'commander';
import { EMAIL_OR_LATEST, emailAttempts, emailEvents, emails } from '../../families/emails.ts';
import { act, collect, declareCommand, wholeNumber } from '../declare.ts';
import { declareFamily, declareTail } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export function addEmailCommands(program: Command): void {
  declareSend(program);
  declareFamily(program, emails, (parent) => {
    declareBatch(parent);
    declareTail(parent, emails.list);
  });
  declareFamily(program, emailEvents);
  declareFamily(program, emailAttempts);
  declareExplain(program);
}

function declareExplain(program: Command): void {
  const explain = declareCommand(program, 'explain', {
    summary: 'say what became of an email, why, and what comes next',
    example: 'explain 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
  })
    .argument('<id>', EMAIL_OR_LATEST.says)
    .option('--transcript', 'with what was said to each mail server')
    .action(
      act(async (session, [id = ''], options) => (await import('./explain.ts')).explainEmail(session, id, options)),
    );
  nameFields(explain, { email_id: '<id>' });
}

function declareBatch(parent: Command): void {
  const batch = declareCommand(parent, 'batch', {
    summary: 'send up to 100 emails at once',
    description:
      'Sends the emails of a JSON file: a list of at most 100 objects with the fields of POST /emails. One bad email refuses them all unless --permissive is given.',
    example: 'emails batch emails.json --idempotency-key digest-2026-11-20',
  })
    .argument('<file>', 'the file, or - for standard input')
    .option('--permissive', 'send the good ones and name the others')
    .option('--idempotency-key <key>', 'makes it safe to run the same command again within 24 hours', headerText)
    .action(
      act(async (session, [file = ''], options) => (await import('./batch.ts')).sendBatch(session, file, options)),
    );
  nameFields(batch, { '*': 'email' });
}

function headerText(value: string): string {
  if (/^[\x20-\x7E]+$/.test(value)) return value;
  throw new InvalidArgumentError('It takes ASCII letters, digits and signs, such as digest-2026-11-20.');
}

/** Fields that are lists of what one option says each. */
const LISTS = { headers: '--header', tags: '--tag', attachments: '--attach', 'template.variables': '--variable' };

function declareSend(program: Command): void {
  const send = declareCommand(program, 'send', {
    summary: 'send an email',
    description:
      'Sends an email. --text and --html give the two bodies; --text-file and --html-file read them from a file, where - stands for standard input; a lone - takes the text from there.',
    example: "send --from 'You <you@playground.test>' --to someone@example.com --subject Hello --text 'It works.'",
  })
    .argument('[-]', 'take the text from standard input')
    .option('--from <address>', 'the sender, on a verified domain: address or Name <address>; a template may supply it')
    .requiredOption('--to <address>', 'a recipient; repeat it for more', collect)
    .option('--subject <text>', 'the subject; a template may supply it')
    .option('--text <text>', 'the plain text')
    .option('--text-file <file>', 'a file with the plain text')
    .option('--html <html>', 'the HTML')
    .option('--html-file <file>', 'a file with the HTML')
    .option('--template <id>', 'a published template, by id or alias, instead of --text and --html')
    .option('--variable <pair>', 'a variable of the template, KEY=value or KEY:=number; repeatable', collect)
    .option('--cc <address>', 'a recipient whom everybody sees; repeatable', collect)
    .option('--bcc <address>', 'a recipient whom nobody sees; repeatable', collect)
    .option('--reply-to <address>', 'where answers go; repeatable', collect)
    .option('--header <field>', "a further header, 'Name: value'; repeatable", collect)
    .option('--tag <pair>', 'a tag, name=value, returned with every event; repeatable', collect)
    .option(
      '--attach <file>',
      "a file to attach, or an https URL for the server to fetch; repeatable. 'logo.png;content_id=logo' shows it as cid:logo; filename= and content_type= work alike",
      collect,
    )
    .option('--scheduled-at <time>', 'when to send: an ISO 8601 time, 1 minute to 30 days from now')
    .option('--idempotency-key <key>', 'makes it safe to run the same command again within 24 hours', headerText)
    .option('--wait', 'wait until it was delivered or has failed, and say so by the exit status')
    .option('--wait-seconds <n>', 'how long to wait at most (default: 120)', wholeNumber)
    .action(act(async (session, [dash], options) => (await import('./send.ts')).sendEmail(session, dash, options)));
  nameFields(send, LISTS);
}
