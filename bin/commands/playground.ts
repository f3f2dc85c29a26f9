import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  judgeCaught,
  listCaught,
  readCaught,
  type CaughtRow,
  type Checks,
} from '../../src/flow/mail/playground/index.ts';
import {
  readMessage,
  signersOf,
  textOfHtml,
  type MessagePart,
  type MessageReading,
} from '../../src/protocol/read-message/index.ts';
import { OperatorFault } from '../explain.ts';
import { developmentFolder, mustBeInitialised, readConfig, withStore, type DataOptions } from './open.ts';

export interface PlaygroundOptions extends DataOptions {
  raw?: boolean;
  json?: boolean;
  limit: number;
}

export async function playground(id: string | undefined, options: PlaygroundOptions): Promise<void> {
  const dataDir = developmentFolder(options);
  const config = readConfig({ ...options, data: dataDir }, { profile: 'development' });
  mustBeInitialised(dataDir, options.data === undefined ? 'npm start' : `rasket dev --data ${options.data}`);
  await withStore(config, dataDir, async (store) => {
    const { db, blobs } = store;
    if (id === undefined) return print(await listCaught(db, options.limit), options.json ?? false, pageOf(dataDir));
    const wanted = id === 'latest' ? (await listCaught(db, 1))[0]?.id : id;
    const caught = wanted === undefined ? undefined : await readCaught(db, blobs, wanted);
    if (!caught) {
      throw new OperatorFault(
        id === 'latest'
          ? 'nothing was caught yet; send an email to any address and look again'
          : `nothing caught has the id ${id}; list what there is with: rasket playground`,
      );
    }
    if (options.json) console.log(JSON.stringify({ ...present(caught.row), message: caught.message.toString('utf8') }));
    else if (options.raw) {
      if (process.stdout.isTTY)
        throw new OperatorFault(
          `the source would reach the terminal as it is; write it into a file or a pipe, such as: rasket playground ${caught.row.id} --raw | less`,
        );
      process.stdout.write(caught.message);
    } else
      await show(caught.row, caught.message, await judgeCaught(store, caught.row, caught.message), pageOf(dataDir));
  });
}

const present = (row: CaughtRow) => ({
  ...row,
  recipients: JSON.parse(row.recipients) as string[],
  created_at: new Date(row.created_at).toISOString(),
});

function print(rows: CaughtRow[], asJson: boolean, page: string | undefined): void {
  if (asJson) return console.log(JSON.stringify(rows.map(present)));
  if (rows.length === 0) return console.log('Nothing was caught yet. Send an email to any address and look again.');
  for (const row of rows.map(present)) {
    console.log(
      `${row.id}  ${row.created_at.slice(0, 19).replace('T', ' ')}  ${clean(row.recipients.join(', '))}  ${clean(row.subject)}`,
    );
  }
  if (page !== undefined && process.stdout.isTTY) console.error(`In a browser: ${page}`);
}

/** What a caller wrote must not steer the terminal. The joiners of emoji and of some scripts are harmless. */
const clean = (text: string): string => text.replaceAll(/\p{Cc}|(?![\u200c\u200d])\p{Cf}/gu, '\uFFFD');
const cleanLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(clean).join('\t'))
    .join('\n');

/** As it is read, not as it is written: the source is what `--raw` prints. */
async function show(row: CaughtRow, message: Buffer, checks: Checks, page: string | undefined): Promise<void> {
  const read = await readMessage(message, LIMITS);
  const pairs: [string, string][] = [
    ['From', read.from],
    ['To', read.to.join(', ')],
    ['Cc', read.cc.join(', ')],
    ['Reply to', read.replyTo.join(', ')],
    ['Subject', read.subject],
    ['Caught', present(row).created_at],
    ['Envelope', `${row.mail_from} to ${present(row).recipients.join(', ')}`],
    ...signersOf(message).map(({ domain, selector, algorithm }): [string, string] => [
      'Signed',
      `by ${domain} with ${selector} (${algorithm})`,
    ]),
    ['Judged', `SPF ${checks.spf.result}, DKIM ${dkimInWords(checks)}, DMARC ${checks.dmarc.result}`],
    ...(read.isRead ? read.parts : []).map((part): [string, string] => ['File', inWords(part)]),
  ];
  const shown = pairs.filter(([, value]) => value !== '');
  const width = Math.max(...shown.map(([label]) => label.length)) + 2;
  const head = shown.map(([label, value]) => label.padEnd(width) + clean(value)).join('\n');
  console.log(
    `${head}\n\n${cleanLines(bodyOf(read))}\n\nThe source: rasket playground ${row.id} --raw${page === undefined ? '' : `\nIn a browser: ${page}/${row.id}`}`,
  );
}

const dkimInWords = ({ dkim }: Checks): string =>
  dkim.length === 0 ? 'none' : dkim.map(({ result }) => result).join(' and ');

/** Of the server that runs on this folder, or ran last. */
function pageOf(dataDir: string): string | undefined {
  try {
    const { url } = JSON.parse(readFileSync(path.join(dataDir, 'run', 'dev.json'), 'utf8')) as { url: string };
    return `${url}/playground`;
  } catch {
    return undefined;
  }
}

const LIMITS = { depthMax: 100, headerBytesMax: 2 * 1024 * 1024, partsMax: 1000 };

function bodyOf(read: MessageReading): string {
  if (!read.isRead) return `(It cannot be read: ${read.because}.)`;
  const text = read.text?.trim() ?? '';
  if (text !== '') return text;
  return read.html === null ? '(It has no text.)' : textOfHtml(read.html);
}

const inWords = ({ filename, contentType, content }: MessagePart): string =>
  `${filename ?? 'without a name'} (${contentType}, ${content.byteLength} bytes)`;
