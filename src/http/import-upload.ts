import multipart, { type Multipart } from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import { receiveFile, type ReceivedFile } from '../flow/audience/index.ts';
import { invalidFields, Refusal, refuse } from '../platform/refusal/index.ts';
import {
  checkImport,
  createImport,
  mustHaveRoomForImport,
  type ImportForm,
} from '../resources/contact-imports/index.ts';
import type { KeyPage } from './page.ts';

const FIELDS = ['column_map', 'on_conflict', 'segments', 'topics'] as const;
const FIELD_BYTES_MAX = 256 * 1024;

/** Lets the routes of `server` read forms piece by piece, as no other route does. */
export async function readForms(server: FastifyInstance): Promise<void> {
  server.removeAllContentTypeParsers();
  // The size of a file is counted where it is stored.
  await server.register(multipart, {
    limits: { fileSize: Infinity, fieldSize: FIELD_BYTES_MAX, files: 1, fields: FIELDS.length + 1, parts: 20 },
  });
  server.addContentTypeParser('*', (_request, _payload, done) => done(noForm()));
}

const noForm = () =>
  refuse('validation_error', {
    status: 400,
    say: 'Content-Type must be multipart/form-data, with the CSV as its file.',
  });

/** Stores the file while it comes in and puts the import in line; nothing of a refused one is left. */
export const createContactImport: KeyPage<'createContactImport'> = async (ctx, { reply }) => {
  const { request } = reply;
  if (!request.isMultipart()) throw noForm();
  await mustHaveRoomForImport(ctx);
  const id = ctx.store.ids.uuid();
  const form: ImportForm = {};
  let file: ReceivedFile | undefined;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') readField(form, part);
      else if (part.fieldname !== 'file') throw unknown(part.fieldname);
      else file = await receiveFile(ctx, id, part.file);
    }
    if (!file) throw refuse('missing_required_field', { say: 'Missing required field: file.' });
    const made = await createImport(ctx, id, file, form);
    reply.code(201);
    return made;
  } catch (error) {
    await ctx.store.blobs.remove(id);
    throw formFault(error);
  }
};

function readField(
  form: ImportForm,
  { fieldname, value, valueTruncated }: Extract<Multipart, { type: 'field' }>,
): void {
  const name = FIELDS.find((field) => field === fieldname);
  if (name === undefined) throw unknown(fieldname);
  const bad = (says: string) => invalidFields([{ path: name, message: `${name} ${says}.` }]);
  if (form[name] !== undefined) throw bad('stands twice in the form');
  if (valueTruncated) throw bad(`is larger than ${FIELD_BYTES_MAX / 1024} KB`);
  form[name] = String(value);
  // What is wrong with the form is said before a file of 50 MB has come in, where it stands before it.
  checkImport(form);
}

const unknown = (name: string) =>
  invalidFields([
    {
      path: name.slice(0, 100),
      message: `${name.slice(0, 100)} is not a field of this form; known are file, ${FIELDS.join(', ')}`,
    },
  ]);

/** What the reader of forms says is about the form; anything else is passed on. */
function formFault(error: unknown): unknown {
  const { code = '', message = '', statusCode } = error as { code?: string; message?: string; statusCode?: number };
  if (error instanceof Refusal) return error;
  const isForm =
    code.startsWith('FST_') || /multipart|boundary|unexpected end|malformed|premature|aborted/i.test(message);
  if (!isForm || statusCode === 500) return error;
  return refuse('validation_error', { status: 400, say: `The form cannot be read: ${message.slice(0, 120)}.` });
}
