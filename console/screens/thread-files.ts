import { chmodSync, mkdtempSync, openSync, readSync, closeSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Client } from '../../cli/client/index.ts';
import { clean, CliFault, harmlessName, mustBeFree, openFile, save, type ThreadEmail } from '../../cli/output/index.ts';
import { ChooseDialog, LineDialog, type Choice } from '../dialogs/dialog.ts';
import type { Host } from './screen.ts';

type ThreadFile = ThreadEmail['attachments'][number];

/** Lists the files of a thread, those of the newest email first. */
function chooseFile(
  host: Host,
  emails: readonly ThreadEmail[],
  { title, choose }: { title: string; choose: (email: ThreadEmail, file: ThreadFile) => void },
): void {
  const files = emails.toReversed().flatMap((email) => email.attachments.map((file) => ({ email, file })));
  if (files.length === 0) return host.say('This thread has no files.');
  const choices = files.map(({ email, file }): Choice => {
    const size = file.size === null ? '' : `  ${file.size} bytes`;
    return { label: `${file.filename ?? 'a file'}${size}  from ${email.from}`, choose: () => choose(email, file) };
  });
  host.dialog = new ChooseDialog(title, choices);
}

export function chooseFileToSave(host: Host, emails: readonly ThreadEmail[]): void {
  const cwd = (): string => process.cwd();
  const choose = (email: ThreadEmail, file: ThreadFile): void => {
    const done = (text: string): string => {
      if (text === '') return 'Type the name of the file.';
      void saveAttachment(host.client, email, file.id, { name: text, cwd })
        .then(() => host.say(`Saved  ${clean(text)}`))
        .catch((error: unknown) => host.sayFault(error));
      return '';
    };
    const says = `Save it as, in ${clean(cwd())}:`;
    host.dialog = new LineDialog({ title: 'Save a file', says, text: harmlessName(file.filename ?? ''), done });
  };
  chooseFile(host, emails, { title: 'Save a file of this thread', choose });
}

/** Saves a file of an email; a file that is there already is kept, and the fault says so. */
async function saveAttachment(
  client: Client,
  { id, direction }: ThreadEmail,
  fileId: string,
  { name, cwd }: { name: string; cwd: () => string },
): Promise<void> {
  await mustBeFree({ cwd }, name, false);
  if (direction === 'outbound') {
    const at = { email_id: id, attachment_id: fileId };
    const { download_url: url } = await client.call('getAttachment', { path: at });
    return save({ cwd }, await client.download({ operation: 'downloadAttachment', path: at }, url), name, false);
  }
  const at = { received_email_id: id, received_attachment_id: fileId };
  const { download_url: url } = await client.call('getReceivedAttachment', { path: at });
  if (url === undefined) throw new CliFault('This part was not stored separately; it is only in the source.');
  await save({ cwd }, await client.download({ operation: 'downloadReceivedAttachment', path: at }, url), name, false);
}

/** Received files that were opened. Each is in a private folder, until the console ends. */
export class OpenedFiles {
  readonly #folders: string[] = [];

  chooseToOpen(host: Host, emails: readonly ThreadEmail[]): void {
    const choose = (email: ThreadEmail, file: ThreadFile): void => {
      host.dialog = undefined;
      const name = harmlessName(file.filename ?? '');
      if (!isNameHarmless(name)) return host.say(couldRun(name));
      host.say(`Opening  ${clean(name)}`);
      void this.#open(host, email, { id: file.id, name }).catch((error: unknown) => host.sayFault(error));
    };
    chooseFile(host, emails, { title: 'Open a file of this thread', choose });
  }

  async #open(host: Host, email: ThreadEmail, { id, name }: { id: string; name: string }): Promise<void> {
    const folder = this.#makeFolder();
    const file = path.join(folder, name);
    await saveAttachment(host.client, email, id, { name, cwd: () => folder });
    chmodSync(file, 0o600);
    if (!isContentHarmless(readStart(file))) {
      rmSync(folder, { recursive: true, force: true });
      return host.say(couldRun(name));
    }
    const shown = clean(file);
    const isStarted = await openFile(host.env, file, (reason) =>
      host.say(`The program for ${clean(name)} failed (${reason}). Until the console ends, the file is ${shown}`),
    );
    if (isStarted) host.say(`Opened  ${clean(name)}`);
    else host.say(`There is no program to open it with; $RASKET_OPEN can name one. Until the console ends: ${shown}`);
  }

  #makeFolder(): string {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-open-'));
    if (this.#folders.length === 0) process.once('exit', () => this.#remove());
    this.#folders.push(folder);
    return folder;
  }

  #remove(): void {
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}

const couldRun = (name: string): string =>
  `${clean(name)} is not opened, because it could run as a program; v saves it.`;

/**
 * Types that programs only show. Everything else may run, or contain something that does: programs, scripts, pages,
 * links to programs, documents with macros, archives.
 */
const SHOWN_ONLY: ReadonlySet<string> = new Set([
  ...['pdf', 'txt', 'log', 'csv', 'tsv', 'ics', 'vcf', 'eml'],
  ...['png', 'jpg', 'jpeg', 'gif', 'webp', 'bmp', 'tif', 'tiff', 'heic', 'heif', 'avif'],
  ...['docx', 'xlsx', 'pptx', 'odt', 'ods', 'odp', 'rtf'],
  ...['mp3', 'm4a', 'ogg', 'oga', 'opus', 'wav', 'flac', 'mp4', 'm4v', 'mov', 'webm', 'mkv', 'avi'],
]);

/** Reports whether a file of this name is only shown when it is opened. */
export const isNameHarmless = (name: string): boolean =>
  SHOWN_ONLY.has(/[^.]\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '');

const START_BYTES = 4096;

function readStart(file: string): Buffer {
  const start = Buffer.alloc(START_BYTES);
  const handle = openSync(file, 'r');
  try {
    return start.subarray(0, readSync(handle, start, 0, START_BYTES, 0));
  } finally {
    closeSync(handle);
  }
}

/** ELF, MZ, Mach-O, Java, WebAssembly, PostScript and scripts, whatever their name says: some desktops look at the content. */
const PROGRAM = /^(?:\x7fELF|MZ|#!|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm|%!PS|<)/;

/** Reports whether a file that begins so is no program, page or starter of a program. */
export function isContentHarmless(start: Buffer): boolean {
  const text = start.toString('latin1').replace(/^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, '');
  return !PROGRAM.test(text.trimStart()) && !/^\s*\[Desktop Entry\]/im.test(text);
}
