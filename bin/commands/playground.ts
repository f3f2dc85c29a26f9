import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  CAPTURED_LIMITS,
  checkCaptured,
  clearCaptured,
  listCaptured,
  readCaptured,
  type CapturedRow,
  type Checks,
} from '../../src/mail/capture/index.ts';
import {
  readMessage,
  listSigners,
  textOfHtml,
  type MessagePart,
  type MessageReading,
} from '../../src/protocol/read-message/index.ts';
import { ApiFault, createClient, NoAnswer, quoted, readDevelopment } from '../../cli/client/index.ts';
import {
  cleanLines,
  formatPairs,
  formatTime,
  listTime,
  shortId,
  openTable,
  openTerminal,
  type Column,
  type Terminal,
} from '../../cli/output/index.ts';
import { OperatorFault } from '../explain.ts';
import {
  developmentFolder,
  findDevelopmentData,
  mustBeInitialised,
  readConfig,
  withStore,
  type DataOptions,
} from './open.ts';

export interface PlaygroundOptions extends DataOptions {
  raw?: boolean;
  json?: boolean;
  limit: number;
  wide?: boolean;
}

export interface WaitOptions extends DataOptions {
  to?: string;
  subject?: string;
  email?: string;
  timeout: string;
  raw?: boolean;
  json?: boolean;
  version: string;
}

/** More than the longest wait, for a busy machine. */
const ANSWER_MS = 90_000;

/** Shows the newest message that matches; the server responds as soon as there is one. */
export async function waitForMessage(options: WaitOptions): Promise<void> {
  const dataDir = developmentFolder(options);
  const development = readDevelopment(dataDir);
  if (!development?.isRunning()) {
    const start = options.data === undefined ? 'rasket dev' : `rasket dev --data ${quoted(options.data)}`;
    throw new OperatorFault(`no development server runs on ${dataDir}; start one with: ${start}`, 'unreachable');
  }
  const client = createClient({ url: development.url, version: options.version, timeoutMs: ANSWER_MS });
  const { to, subject, email, timeout } = options;
  const query = { to, subject, email_id: email, wait: timeout, limit: 1 };
  const [message] = (await client.call('listPlaygroundMessages', { query }).catch(asOperatorFault)).data;
  if (!message) {
    const wanted = [to && ` to ${to}`, subject && ` with "${subject}" in its subject`, email && ` of email ${email}`];
    throw new OperatorFault(
      `no message${wanted.filter(Boolean).join('')} arrived within ${timeout}; list the captured messages with: rasket playground`,
      'notFound',
    );
  }
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  if (options.json) terminal.printJson(message);
  else await playground(message.id, { ...options, limit: 1 });
}

function asOperatorFault(error: unknown): never {
  if (error instanceof ApiFault) throw new OperatorFault(error.message, error.status < 500 ? 'usage' : 'server');
  if (error instanceof NoAnswer) throw new OperatorFault(error.message, 'unreachable');
  throw error;
}

export async function clearPlayground(options: DataOptions & { json?: boolean }): Promise<void> {
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  const dataDir = findDevelopmentData(options, 'other folders are not changed');
  const config = readConfig({ ...options, data: dataDir }, { profile: 'development' });
  const count = await withStore(config, dataDir, clearCaptured);
  if (options.json) terminal.printJson({ object: 'playground', deleted: true, count });
  else terminal.print(`Removed ${count} ${count === 1 ? 'message' : 'messages'}.`);
}

export async function playground(id: string | undefined, options: PlaygroundOptions): Promise<void> {
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  const dataDir = developmentFolder(options);
  const config = readConfig({ ...options, data: dataDir }, { profile: 'development' });
  mustBeInitialised(dataDir, options.data === undefined ? 'npm start' : `rasket dev --data ${options.data}`);
  await withStore(config, dataDir, async (store) => {
    const { db, blobs } = store;
    if (id === undefined) return list(terminal, await listCaptured(db, options.limit), { ...options, dataDir });
    const wanted = id === 'latest' ? (await listCaptured(db, 1))[0]?.id : await findWholeId(db, id);
    const caught = wanted === undefined ? undefined : await readCaptured(db, blobs, wanted);
    if (!caught) {
      throw new OperatorFault(
        id === 'latest'
          ? 'no message was captured yet; send an email to any address and try again'
          : `no captured message has the id ${id}; list them with: rasket playground`,
        'notFound',
      );
    }
    if (options.json) terminal.printJson({ ...present(caught.row), message: caught.message.toString('utf8') });
    else if (options.raw) {
      if (terminal.isTty)
        throw new OperatorFault(
          `the source would be printed to the terminal unchanged; write it to a file or a pipe, such as: rasket playground ${caught.row.id} --raw | less`,
          'usage',
        );
      process.stdout.write(caught.message);
    } else await show(terminal, caught, await checkCaptured(store, caught.row, caught.message), findPageUrl(dataDir));
  });
}

/**
 * Returns the id with this ending among the newest messages; the word itself if there is none: it may be a beginning.
 */
async function findWholeId(db: Parameters<typeof listCaptured>[0], word: string): Promise<string> {
  if (!/^[0-9a-f]{4,12}$/i.test(word)) return word;
  const end = word.toLowerCase();
  const rows = await listCaptured(db, LOOKED_THROUGH);
  const found = rows.filter((row) => row.id.endsWith(end) || row.email_id?.endsWith(end));
  if (found.length < 2) return found[0]?.id ?? word;
  throw new OperatorFault(
    `more than one id ends in ${word}:\n${found.map((row) => `  ${row.id}  ${row.subject}`).join('\n')}`,
    'usage',
  );
}

const LOOKED_THROUGH = 1000;

const present = (row: CapturedRow) => ({
  ...row,
  recipients: JSON.parse(row.recipients) as string[],
  created_at: new Date(row.created_at).toISOString(),
});

type Caught = ReturnType<typeof present>;

const columnsFor = (terminal: Terminal, isWide: boolean): Column<Caught>[] => [
  { title: 'ID', value: ({ id }) => (terminal.isTty && !isWide ? shortId(id) : id), fit: 'whole' },
  {
    title: 'CAUGHT',
    value: ({ created_at: at }) => (isWide ? formatTime(terminal, at) : listTime(terminal, at)),
    fit: 'whole',
  },
  { title: 'TO', value: ({ recipients }) => recipients.join(', '), fit: 'name' },
  { title: 'SUBJECT', value: ({ subject }) => subject },
];

function list(
  terminal: Terminal,
  rows: readonly CapturedRow[],
  { json: isJson, wide: isWide = false, data, dataDir }: PlaygroundOptions & { dataDir: string },
): void {
  const caught = rows.map(present);
  if (isJson) return terminal.printJson(caught);
  if (caught.length === 0) terminal.hint('No message was captured yet. Send an email to any address and try again.');
  const table = openTable(terminal, columnsFor(terminal, isWide), { isWide, isOneLine: true });
  if (caught.length > 0 || !terminal.isTty) terminal.print(table.write(caught));
  const again = ['rasket', 'playground', ...(data === undefined ? [] : ['--data', data]), '--wide']
    .map(quoted)
    .join(' ');
  if (table.hasCut()) terminal.hint(`Some values are cut; show all with: ${again}`);
  const page = findPageUrl(dataDir);
  if (page !== undefined) terminal.hint(`In a browser: ${page}`);
}

/** Shows a message in readable form; `--raw` prints the source. */
async function show(
  terminal: Terminal,
  { row, message }: { row: CapturedRow; message: Buffer },
  checks: Checks,
  page: string | undefined,
): Promise<void> {
  const read = await readMessage(message, CAPTURED_LIMITS);
  const { created_at: caught, recipients } = present(row);
  const head = formatPairs(terminal, [
    ['From', read.from],
    ['To', read.to.join(', ')],
    ['Cc', read.cc.join(', ')],
    ['Reply to', read.replyTo.join(', ')],
    ['Subject', read.subject],
    ['Caught', formatTime(terminal, caught, 'second')],
    ['Envelope', `${row.mail_from} to ${recipients.join(', ')}`],
    ...listSigners(message).map(
      ({ domain, selector, algorithm }) => ['Signed', `by ${domain} with ${selector} (${algorithm})`] as const,
    ),
    ['Judged', `SPF ${checks.spf.result}, DKIM ${dkimInWords(checks)}, DMARC ${checks.dmarc.result}`],
    ...(read.isRead ? read.parts : []).map((part) => ['File', inWords(part)] as const),
  ]);
  terminal.print(`${head}\n\n${cleanLines(formatBody(read))}\n\nThe source: rasket playground ${row.id} --raw`);
  if (page !== undefined) terminal.print(`In a browser: ${page}/${row.id}`);
}

const dkimInWords = ({ dkim }: Checks): string =>
  dkim.length === 0 ? 'none' : dkim.map(({ result }) => result).join(' and ');

/** Returns the page of the server that runs on this folder, or ran last. */
function findPageUrl(dataDir: string): string | undefined {
  try {
    const { url } = JSON.parse(readFileSync(path.join(dataDir, 'run', 'dev.json'), 'utf8')) as { url: string };
    return `${url}/playground`;
  } catch {
    return undefined;
  }
}

function formatBody(read: MessageReading): string {
  if (!read.isRead) return `(It cannot be read: ${read.because}.)`;
  const text = read.text?.trim() ?? '';
  if (text !== '') return text;
  return read.html === null ? '(It has no text.)' : textOfHtml(read.html);
}

const inWords = ({ filename, contentType, content }: MessagePart): string =>
  `${filename ?? 'without a name'} (${contentType}, ${content.byteLength} bytes)`;
