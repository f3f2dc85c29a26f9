import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerOf, BodyOf, Client } from '../cli/client/index.ts';
import { columnsOfChanges, importInWords, type Action, type Body } from '../cli/families/index.ts';
import { importForm, mustBeReadable, readEmails, uploadImage } from '../cli/input/index.ts';
import { clean, formatTable, tableColumns, tellChange, type Terminal } from '../cli/output/index.ts';
import type { Path, Progress } from './carry-out.ts';

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
const WORKS: Partial<Record<Operation, (body: Body) => Work>> = {
  createContactImport: importContacts,
  createImage: uploadImages,
  sendBatch,
};

/** Those that can say what they would change. */
const PLANS: Partial<Record<Operation, (client: Client, path: Path, body: Body) => Promise<Plan>>> = {
  configureDomainDns: planDns,
};

export const workOf = (operation: Operation, body: Body): Work | undefined => WORKS[operation]?.(body);

export const planOf = (operation: Operation): (typeof PLANS)[Operation] => PLANS[operation];

const LOOK_MS = 500;
const FAILURES_SHOWN = 100;

function importContacts(body: Body): Work {
  return async (client, { tell, signal }) => {
    const form = await importForm(body, process.cwd());
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

function uploadImages({ file }: Body): Work {
  return async (client, { tell }) => {
    const addresses: string[] = [];
    for (const one of file as string[]) {
      tell(addresses.length, `${clean(one)} is sent`);
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
