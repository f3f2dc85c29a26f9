import multipart, { type Multipart } from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import { receiveFile, type ReceivedFile } from '../flow/audience/index.ts';
import { invalidFields, Refusal, refuse } from '../platform/refusal/index.ts';
import {
  checkImport,
  createImport,
  mustBeWithinImportLimit,
  type ImportForm,
} from '../resources/contact-imports/index.ts';
import type { KeyPage } from './page.ts';

const FIELDS = ['column_map', 'on_conflict', 'segments', 'topics'] as const;
const FIELD_BYTES_MAX = 256 * 1024;
/** The form parser throws at longer boundaries; RFC 2046 §5.1.1 allows 70 characters. */
const TYPE_CHARS_MAX = 255;
const TYPE_TOO_LONG = `Content-Type is longer than ${TYPE_CHARS_MAX} characters`;

/** Lets the routes of `server` read forms piece by piece, as no other route does. */
export async function readForms(server: FastifyInstance): Promise<void> {
  server.removeAllContentTypeParsers();
  // The file's size is limited where it is stored.
  await server.register(multipart, {
    // One file more than allowed, and enough fields to name the one that is too many.
    limits: { fileSize: Infinity, fieldSize: FIELD_BYTES_MAX, files: 2, fields: FIELDS.length + 2, parts: 20 },
  });
  server.addContentTypeParser('*', (_request, _payload, done) => done(noForm()));
}

const noForm = () =>
  refuse('validation_error', {
    status: 400,
    say: 'Content-Type must be multipart/form-data, with the CSV as its file.',
  });

/** Stores the file as it comes in and queues the import; a refused import leaves nothing behind. */
export const createContactImport: KeyPage<'createContactImport'> = async (ctx, { reply }) => {
  const { request } = reply;
  if (!request.isMultipart()) throw noForm();
  if ((request.headers['content-type'] ?? '').length > TYPE_CHARS_MAX) throw unread(TYPE_TOO_LONG);
  await mustBeWithinImportLimit(ctx);
  const id = ctx.store.ids.uuid();
  const form: ImportForm = {};
  let file: ReceivedFile | undefined;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') readField(form, part);
      else if (part.fieldname !== 'file')
        throw isField(part.fieldname) ? asFile(part.fieldname) : unknown(part.fieldname);
      else if (file) throw invalidFields([{ path: 'file', message: 'file stands twice in the form.' }]);
      else file = await receiveFile(ctx, id, part.file);
    }
    if (!file) throw refuse('missing_required_field', { say: 'Missing required field: file.' });
    const made = await createImport(ctx, id, file, form);
    reply.code(201);
    return made;
  } catch (error) {
    // The rest of the body is read and dropped, so that a sender who reads only after its last byte gets the answer;
    // the time limit of any request ends that.
    request.raw.unpipe().resume();
    await ctx.store.blobs.remove(id);
    throw formFault(error);
  }
};

function readField(
  form: ImportForm,
  { fieldname, value, valueTruncated }: Extract<Multipart, { type: 'field' }>,
): void {
  if (fieldname === 'file') throw invalidFields([{ path: 'file', message: NO_FILE }]);
  const name = FIELDS.find((field) => field === fieldname);
  if (name === undefined) throw unknown(fieldname);
  const bad = (says: string) => invalidFields([{ path: name, message: `${name} ${says}.` }]);
  if (form[name] !== undefined) throw bad('stands twice in the form');
  if (valueTruncated) throw bad(`is larger than ${FIELD_BYTES_MAX / 1024} KB`);
  // A part with the type JSON comes parsed.
  form[name] = typeof value === 'string' ? value : JSON.stringify(value);
  // Checked after each field: a fault is told before a file of 50 MB that follows has come in.
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

/** Errors of the form parser become refusals of the form; all others are passed on. */
function formFault(error: unknown): unknown {
  const { code = '', message = '', statusCode } = error as { code?: string; message?: string; statusCode?: number };
  if (error instanceof Refusal) return error;
  const isForm =
    code.startsWith('FST_') || /multipart|boundary|unexpected end|malformed|premature|aborted/i.test(message);
  if (!isForm || statusCode === 500) return error;
  return unread(message.slice(0, 120));
}

const unread = (why: string) => refuse('validation_error', { status: 400, say: `The form cannot be read: ${why}.` });
