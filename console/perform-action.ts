import { setTimeout as sleep, setTimeout as wait } from 'node:timers/promises';
import {
  ApiFault,
  type CallOf,
  type Client,
  type OperationId,
  type AnswerOf,
  type BodyOf,
} from '../cli/client/index.ts';
import {
  columnsOfChanges,
  importInWords,
  previewInWords,
  type Action,
  type Body,
  type ImportPreview,
} from '../cli/families/index.ts';
import {
  buildCall,
  importForm,
  mustBeReadable,
  readEmails,
  uploadImage,
  readBody,
  readNamed,
  readUtf8,
  type NameOption,
  type Typed,
} from '../cli/input/index.ts';
import { readFile } from 'node:fs/promises';
import { clean, formatTable, tableColumns, describeChange, type Terminal } from '../cli/output/index.ts';

/** Work of more than one call; resolves to the message for the end. */
export type Work = (client: Client, progress: Progress) => Promise<string>;

/** A preview that is shown before confirmation, and the work that carries it out. */
export interface Plan {
  question: string;
  draw: (terminal: Terminal, columns: number) => string[];
  work: Work;
}

type Operation = Action['operation'];

/** Operations that read a local file. */
const WORKS: Partial<Record<Operation, (body: Body) => Work>> = {
  createContactImport: importContacts,
  createImage: uploadImages,
  sendBatch,
};

/** Operations that can preview their changes. */
const PLANS: Partial<Record<Operation, (client: Client, path: Path, body: Body) => Promise<Plan>>> = {
  configureDomainDns: planDns,
};

export const findWork = (operation: Operation, body: Body): Work | undefined => WORKS[operation]?.(body);

export const findPlan = (operation: Operation): (typeof PLANS)[Operation] => PLANS[operation];

const LOOK_MS = 500;
const FAILURES_SHOWN = 100;

function importContacts(body: Body): Work {
  return async (client, { tell, signal }) => {
    const form = await importForm(body, process.cwd());
    tell(0, 'uploading the file');
    if (body['dry_run'] === true) {
      const preview = await client.upload('createContactImport', form, { dry_run: 'true' });
      return describePreview(preview as ImportPreview);
    }
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
      if (counts.failed === 0 && read.skipped_values === 0 && status === 'completed') return said;
      const answer = await client.call('getContactImportFailures', { path: { import_id: id } }, signal);
      const failures = listRows(answer.data);
      const skipped = answer.skipped_values.map(({ name, column, value, ...one }) => {
        return { ...one, value: `${name ?? column}: ${value ?? ''}` };
      });
      const without = skipped.length === 0 ? [] : ['', 'Imported without:', ...listRows(skipped)];
      return [said, '', ...failures, ...without].join('\n');
    }
  };
}

interface FailedRow {
  row: number;
  reason: string;
  value: string | null;
}

function listRows(failures: readonly FailedRow[]): string[] {
  const rows = failures
    .slice(0, FAILURES_SHOWN)
    .map(({ row, reason, value }) => `row ${row}: ${reason}  ${value ?? ''}`);
  return [...rows, ...(failures.length > rows.length ? ['… and more'] : [])];
}

function describePreview(preview: ImportPreview): string {
  const columns = preview.columns.map(({ column, name, field, proposal, type, values, fitting }) => {
    const what = field ?? (proposal === null ? 'not imported' : `not imported; could be ${proposal}`);
    return `${name ?? column}: ${what}, ${type}, ${fitting} of ${values} values fit`;
  });
  return [previewInWords(preview), '', ...columns, '', ...listRows(preview.failures)].join('\n');
}

function uploadImages({ file }: Body): Work {
  return async (client, { tell }) => {
    const addresses: string[] = [];
    for (const one of file as string[]) {
      tell(addresses.length, `uploading ${clean(one)}`);
      addresses.push((await uploadImage(client, one, process.cwd())).url);
    }
    return addresses.join('\n');
  };
}

function sendBatch({ file, permissive }: Body): Work {
  return async (client, { signal }) => {
    await mustBeReadable(String(file), process.cwd());
    const emails = readEmails(await readFile(String(file), 'utf8'));
    const header = permissive === true ? { 'x-batch-validation': 'permissive' as const } : {};
    const sent = await client.call('sendBatch', { body: emails as BodyOf<'sendBatch'>, header }, signal);
    return describeBatch(sent, emails.length);
  };
}

function describeBatch({ data, errors = [] }: AnswerOf<'sendBatch'>, count: number): string {
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
        ? `${describeChange(planned)} Publish changes automatically from now on?`
        : `${describeChange(planned)} Change it on ${client.url}?`,
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
        ? describeChange(made)
        : `${describeChange(made)} The changes differ from those that were shown, because the zone had changed.`;
    },
  };
}

/** The limit that the contract guarantees; an installation may accept more, and the command line sends it. */
const ATTACHMENTS_MIB_MAX = 30;

/** Returns the name of an option in a form, without dashes. */
const inForm: NameOption = (option) => option.replaceAll('-', ' ');

/** Returns the filled-in values as the operation takes them, with its files read. */
export const readForm = (client: Client, action: Action, path: Path, typed: Typed): Promise<Body> =>
  readBody(action, action.lines ? fill(action.lines.field, typed) : typed, {
    client,
    path: () => Promise.resolve(path),
    nameOption: inForm,
    cwd: process.cwd(),
    attachmentsMibMax: ATTACHMENTS_MIB_MAX,
    readFile: async (file, field) => readUtf8(await readNamed(file, field, process.cwd()), `${field} ${file}`),
  });

/** The lines of a form that all belong to one field. */
const fill = (field: string, { fields, ...typed }: Typed): Typed => ({
  ...typed,
  fields: { [field]: Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`) },
});

/** An obstacle to an action that can be removed before it is tried again. */
interface Mend {
  title: string;
  question: string;
  work: () => Promise<unknown>;
}

/** A replay to a disabled endpoint is refused: it is offered to enable that first. */
export async function findMend(
  error: unknown,
  { client, signal }: { client: Client; signal: AbortSignal },
  { operation }: Pick<Action, 'operation'>,
  paths: readonly Path[],
): Promise<Mend | undefined> {
  const id = paths[0]?.webhook_id;
  if (operation !== 'replayWebhookEvent' || !(error instanceof ApiFault) || id === undefined) return undefined;
  const path = { webhook_id: id };
  const { endpoint, status } = await client.call('getWebhook', { path }, signal);
  if (status !== 'disabled') return undefined;
  const what = paths.length === 1 ? 'the event' : `the ${paths.length} events`;
  return {
    title: 'enable and replay',
    question: `${clean(endpoint)} is disabled and receives no events. Enable it, and send ${what} again?`,
    work: () => client.call('updateWebhook', { path, body: { status: 'enabled' } }),
  };
}

export type Path = Readonly<Record<string, string>>;

interface ActionAtPaths {
  action: Action;
  paths: readonly Path[];
  /** The items as the person saw them, in the order of their paths. */
  items?: readonly object[] | undefined;
  body: Readonly<Record<string, unknown>>;
}

/** Field of calls that send or publish a draft: the time of its last change that the person has seen. */
export const UNCHANGED_SINCE = 'unchanged_since';

function readSeenAt({ flags }: Action, item: object | undefined): Body {
  const { updated_at: seenAt } = (item ?? {}) as { updated_at?: string };
  return UNCHANGED_SINCE in flags && seenAt !== undefined ? { [UNCHANGED_SINCE]: seenAt } : {};
}

interface Progress {
  /** Reports how many are done, and the reason if nothing moves. */
  tell: (done: number, waits?: string) => void;
  signal: AbortSignal;
}

/** Runs an action on each of these, one after the other, as fast as the server permits; returns the responses. */
export async function performAction(
  client: Client,
  { action, paths, items = [], body }: ActionAtPaths,
  { tell, signal }: Progress,
): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const [at, path] of paths.entries()) {
    tell(answers.length);
    const call = buildCall(action, path, { ...body, ...readSeenAt(action, items[at]) });
    for (;;) {
      try {
        answers.push(await client.call(...call, signal));
        break;
      } catch (error) {
        // A limit longer than the client waits for by itself, such as the one on replays.
        if (
          !(error instanceof ApiFault) ||
          error.status !== 429 ||
          error.retryAfterSeconds === undefined ||
          paths.length === 1
        )
          throw error;
        for (let left = error.retryAfterSeconds; left > 0; left--) {
          tell(answers.length, `rate limit: continues in ${left} s`);
          await sleep(1000, undefined, { signal });
        }
      }
    }
  }
  const { seen } = action;
  if (!seen) return answers;
  const told: string[] = [];
  for (const path of paths)
    told.push(seen.describe((await client.call(seen.operation, { path } as CallOf<OperationId>, signal)) as never));
  return told;
}
