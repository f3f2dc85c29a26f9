import { invalidFields, Refusal, refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { checkImport, queueImport, mustBeWithinImportLimit, type ImportForm } from '../contact-imports/index.ts';
import { receiveFile, type ReceivedFile } from './receive-file.ts';

/** A part of the form in which an import is handed in, in the order in which the parts come: a text, or a file. */
export type ImportPart = TextPart | { name: string; content: AsyncIterable<Uint8Array> };

interface TextPart {
  name: string;
  text: string;
  /** For a door that cuts texts at FIELD_BYTES_MAX: whether this one was cut. */
  isCut?: boolean;
}

export const FIELDS = ['column_map', 'on_conflict', 'segments', 'topics', 'start_automations'] as const;
export const FIELD_BYTES_MAX = 256 * 1024;

/**
 * Stores the file while it comes in and queues the import. A refused import leaves no file, and no part is read while the
 * team has as many imports open as it may.
 */
export async function importContacts(ctx: Ctx, parts: AsyncIterable<ImportPart> | Iterable<ImportPart>) {
  await mustBeWithinImportLimit(ctx.store.db, ctx.teamId);
  const id = ctx.store.ids.uuid();
  const form: ImportForm = {};
  let file: ReceivedFile | undefined;
  let mayBeQueued = false;
  try {
    for await (const part of parts) {
      if ('text' in part) readField(form, part);
      else if (part.name !== 'file') throw isField(part.name) ? asFile(part.name) : unknown(part.name);
      else if (file) throw invalidFields([{ path: 'file', message: 'file stands twice in the form.' }]);
      else file = await receiveFile(ctx, id, part.content);
    }
    if (!file) throw refuse('missing_required_field', { say: 'Missing required field: file.' });
    mayBeQueued = true;
    return await queueImport(ctx, id, file, form);
  } catch (error) {
    // After a commit whose answer was lost the import needs its file; the sweep of orphans removes what nothing needs. All blobs of this owner.
    if (!mayBeQueued || error instanceof Refusal) await ctx.store.blobs.remove(id);
    throw error;
  }
}

function readField(form: ImportForm, { name: given, text, isCut }: TextPart): void {
  if (given === 'file') throw invalidFields([{ path: 'file', message: NO_FILE }]);
  const name = FIELDS.find((field) => field === given);
  if (name === undefined) throw unknown(given);
  const bad = (says: string) => invalidFields([{ path: name, message: `${name} ${says}.` }]);
  if (form[name] !== undefined) throw bad('stands twice in the form');
  if (isCut ?? Buffer.byteLength(text) > FIELD_BYTES_MAX) throw bad(`is larger than ${FIELD_BYTES_MAX / 1024} KB`);
  form[name] = text;
  // What is wrong with the form is said before a file of 50 MB has come in, where it stands before it.
  checkImport(form);
}

const isField = (name: string): boolean => FIELDS.some((field) => field === name);
const asFile = (name: string) =>
  invalidFields([{ path: name, message: `${name} must be a text: leave out the filename of its part.` }]);
const NO_FILE = 'file must be a file: give its part a filename, such as contacts.csv.';

const unknown = (name: string) =>
  invalidFields([
    {
      path: name.slice(0, 100),
      message: `${name.slice(0, 100)} is not a field of this form; known are file, ${FIELDS.join(', ')}`,
    },
  ]);
