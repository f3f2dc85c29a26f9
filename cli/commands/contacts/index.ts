import type { Command } from 'commander';
import { contactActivity, contactSegments, contacts, contactTopics } from '../../families/index.ts';
import { act, collect, declareCommand } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export function addContactCommands(program: Command): void {
  declareFamily(program, contacts, (parent) => {
    declareCreate(parent);
    declareUpdate(parent);
    declareExport(parent);
  });
  declareFamily(program, contactActivity);
  declareFamily(program, contactSegments);
  declareFamily(program, contactTopics, declareSetTopics);
}

function declareCreate(parent: Command): void {
  const create = declareCommand(parent, 'create', {
    summary: 'create a contact, or update the one of this address',
    description:
      'Creates a contact. An address that is one already is updated: what is named changes, and it is never subscribed again.',
    example: 'contacts create ada@example.org --first-name Ada --property plan=pro --property seats:=3',
  })
    .argument('<email>', 'the address')
    .option('--unsubscribed', 'no broadcast may go to it');
  addFields(create)
    .option('--segment <id>', 'adds it to this segment; repeatable', collect)
    .option('--topic <choice>', 'ID=opt_in or ID=opt_out; repeatable', collect)
    .action(
      act(async (session, [email = ''], options) =>
        (await import('./create.ts')).createContact(session, email, options),
      ),
    );
  nameFields(create, { email: '<email>', properties: '--property', segments: '--segment', topics: '--topic' });
}

function declareUpdate(parent: Command): void {
  const update = declareCommand(parent, 'update', {
    summary: 'change a contact',
    example: 'contacts update ada@example.org --last-name King --clear-property plan',
  });
  addFields(addWords(update, contacts.get.path))
    .option('--email <address>', 'its new address')
    .option('--unsubscribed', 'no broadcast may go to it any more')
    .option('--no-unsubscribed', 'broadcasts may go to it again')
    .option('--clear-property <key>', 'takes away its value; repeatable', collect)
    .action(
      act(async (session, [contact = ''], options) =>
        (await import('./update.ts')).updateContact(session, contact, options),
      ),
    );
  nameFields(update, { properties: '--property' });
}

function addFields(command: Command): Command {
  return command
    .option('--first-name <name>', 'its first name; an empty one takes it away')
    .option('--last-name <name>', 'its last name; an empty one takes it away')
    .option('--property <value>', 'key=text, or key:=value for a number, true or false; repeatable', collect);
}

function declareSetTopics(parent: Command): void {
  const set = declareCommand(parent, 'set-topics', {
    summary: 'say which topics a contact wants',
    example: 'contacts set-topics ada@example.org --topic 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32=opt_out',
  });
  addWords(set, contactTopics.list.path)
    .requiredOption('--topic <choice>', 'ID=opt_in or ID=opt_out; repeatable', collect)
    .action(
      act(async (session, [contact = ''], options) =>
        (await import('./set-topics.ts')).setTopics(session, contact, options),
      ),
    );
  nameFields(set, { topics: '--topic' });
}

function declareExport(parent: Command): void {
  declareCommand(parent, 'export', {
    summary: 'write contacts to a file that contacts import takes',
    description:
      'Writes all contacts, or those of a segment, as CSV or with --ndjson a JSON object a line. What a spreadsheet would run as a formula has an apostrophe before it. At a terminal, what would steer it is taken out.',
    example: 'contacts export --output contacts.csv',
  })
    .option('--segment-id <segment>', 'only those who are in this segment now, by its id')
    .option('--ndjson', 'a JSON object a line')
    .option('--output <file>', 'where to; standard output unless said otherwise')
    .option('--force', 'replace the file where it is there already')
    .action(act(async (session, _, options) => (await import('./export.ts')).exportContacts(session, options)));
}
