import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerOf, BodyOf, Client } from '../cli/client/index.ts';
import { columnsOfChanges, importInWords, type Action } from '../cli/families/index.ts';
import {
  formatTable,
  clean,
  mustBeReadable,
  readColumns,
  readEmails,
  readFallback,
  readProperties,
  readTopics,
  tableColumns,
  tellChange,
  type Terminal,
} from '../cli/output/index.ts';
import { asTyped } from './as-typed.ts';
import type { Path, Progress } from './carry-out.ts';
import type { Pairs } from './dialogs/form-field.ts';
import { readSend } from './read-send.ts';

export type Body = Readonly<Record<string, unknown>>;

/** More than one call; answers what is told at the end. */
export type Work = (client: Client, progress: Progress) => Promise<string>;

/** What would be done, shown before it is asked for, and the work that does it. */
export interface Plan {
  question: string;
  draw: (terminal: Terminal, columns: number) => string[];
  work: Work;
}

type Operation = Action['operation'];

/** Those that read a file of this machine. */
const WORKS: Partial<Record<Operation, (body: Body) => Work>> = { createContactImport: importContacts, sendBatch };

/** Those that can say what they would change. */
const PLANS: Partial<Record<Operation, (client: Client, path: Path, body: Body) => Promise<Plan>>> = {
  configureDomainDns: planDns,
};

export const workOf = (operation: Operation, body: Body): Work | undefined => WORKS[operation]?.(body);

export const planOf = (operation: Operation): (typeof PLANS)[Operation] => PLANS[operation];

/** Fields that a form takes in a shorter way than the API. */
const BODIES: Partial<Record<Operation, (body: Body, client: Client, path: Path) => Body | Promise<Body>>> = {
  sendEmail: readSend,
  createContact: ({ properties, topics, ...body }) => ({
    ...body,
    ...(properties === undefined ? {} : { properties: valuesOf(properties as Pairs) }),
    ...(topics === undefined ? {} : { topics: readTopics((topics as Pairs).set, asTyped) }),
  }),
  updateContact: ({ properties, ...body }) =>
    properties === undefined ? body : { ...body, properties: valuesOf(properties as Pairs) },
  updateContactTopics: (body) => ({
    topics: Object.entries(body).map(([id, subscription]) => ({ id, subscription })),
  }),
  createContactProperty: (body) => withFallback(body, String(body.type)),
  updateContactProperty: async (body, client, { contact_property_id = '' }) => {
    const { type } = await client.call('getContactProperty', { path: { contact_property_id } });
    return withFallback(body, type);
  },
};

/** What is filled in, as the operation takes it. */
export const readBody = async (client: Client, operation: Operation, path: Path, body: Body): Promise<Body> =>
  BODIES[operation]?.(body, client, path) ?? body;

const valuesOf = ({ set, gone }: Pairs): object => ({
  ...readProperties(set, asTyped),
  ...Object.fromEntries(gone.map((key) => [key, null])),
});

const withFallback = (body: Body, type: string): Body =>
  typeof body.fallback_value === 'string'
    ? { ...body, fallback_value: readFallback(type, body.fallback_value, asTyped) }
    : body;

const LOOK_MS = 500;
const FAILURES_SHOWN = 100;

async function importForm({ file, columns, properties, upsert, segments, topics }: Body): Promise<FormData> {
  const setOf = (pairs: unknown): string[] => (pairs as Pairs | undefined)?.set ?? [];
  const form = new FormData();
  const put = (name: string, value: unknown): void => form.append(name, JSON.stringify(value));
  if (columns ?? properties) put('column_map', readColumns(setOf(columns), setOf(properties), asTyped));
  if (upsert === true) form.append('on_conflict', 'upsert');
  if (Array.isArray(segments))
    put(
      'segments',
      segments.map((id: unknown) => ({ id })),
    );
  if (topics) put('topics', readTopics(setOf(topics), asTyped));
  form.append('file', await openAsBlob(String(file)), 'contacts.csv');
  return form;
}

function importContacts(body: Body): Work {
  return async (client, { tell, signal }) => {
    await mustBeReadable(String(body.file));
    const form = await importForm(body);
    tell(0, 'the file is sent');
    const { id } = (await client.upload('createContactImport', form)) as { id: string };
    for (;;) {
      const read = await client.call('getContactImport', { path: { import_id: id } }, signal);
      const { status, counts } = read;
      tell(0, `${counts.total} rows, ${counts.failed} of them failed`);
      if (status !== 'completed' && status !== 'failed') {
        await wait(LOOK_MS, undefined, { signal });
        continue;
      }
      const said = importInWords(read, 'upsert').join('\n');
      if (counts.failed === 0 && status === 'completed') return said;
      const { data } = await client.call('getContactImportFailures', { path: { import_id: id } }, signal);
      const rows = data
        .slice(0, FAILURES_SHOWN)
        .map(({ row, reason, value }) => `row ${row}: ${reason}  ${value ?? ''}`);
      return [said, '', ...rows, ...(data.length > rows.length ? ['… and more'] : [])].join('\n');
    }
  };
}

function sendBatch({ file, permissive }: Body): Work {
  return async (client, { signal }) => {
    await mustBeReadable(String(file));
    const emails = readEmails(await readFile(String(file), 'utf8'));
    const header = permissive === true ? { 'x-batch-validation': 'permissive' as const } : {};
    const sent = await client.call('sendBatch', { body: emails as BodyOf<'sendBatch'>, header }, signal);
    return tellBatch(sent, emails.length);
  };
}

function tellBatch({ data, errors = [] }: AnswerOf<'sendBatch'>, count: number): string {
  const accepted = `Accepted  ${data.length} ${data.length === 1 ? 'email' : 'emails'}`;
  const refused = errors.map(({ index, message }) => `Email ${index + 1} of ${count} was refused: ${clean(message)}`);
  return refused.length === 0 ? accepted : [accepted, '', ...refused].join('\n');
}

async function planDns(client: Client, path: Path, body: Body): Promise<Plan> {
  const call = (isDryRun: boolean, signal?: AbortSignal) =>
    client.call(
      'configureDomainDns',
      {
        path: { domain_id: path.domain_id ?? '' },
        body: { ...body, dry_run: isDryRun } as BodyOf<'configureDomainDns'>,
      },
      signal,
    );
  const planned = await call(true);
  return {
    question:
      planned.changes.length === 0
        ? `${tellChange(planned)} Publish it from now on by itself?`
        : `${tellChange(planned)} Change it, on ${client.url}?`,
    draw: (terminal, columns) =>
      planned.changes.length === 0
        ? []
        : formatTable(
            { ...terminal, isTty: true, columns },
            planned.changes,
            tableColumns(terminal, columnsOfChanges()),
          ).split('\n'),
    work: async (_, { signal }) => {
      const made = await call(false, signal);
      const isSame = JSON.stringify(made.changes) === JSON.stringify(planned.changes);
      return isSame
        ? tellChange(made)
        : `${tellChange(made)} It was not quite what was shown: the zone had changed meanwhile.`;
    },
  };
}
