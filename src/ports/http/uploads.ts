import multipart from '@fastify/multipart';
import type { Multipart } from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import {
  FIELD_BYTES_MAX,
  FIELDS,
  importContacts,
  previewImport,
  type ImportPart,
} from '../../features/audience/start.ts';
import { Refusal, refuse } from '../../platform/refusal.ts';
import type { Page } from './page.ts';
import { createImage as storeImage } from '../../features/templates/index.ts';
import { takeEvent } from '../../features/billing/start.ts';

/**
 * Limit for the whole header. RFC 2046 §5.1.1 allows a boundary 70 characters; at very long ones the form parser
 * throws.
 */
const TYPE_CHARS_MAX = 255;
const TYPE_TOO_LONG = `Content-Type is longer than ${TYPE_CHARS_MAX} characters`;

/** Lets the routes of `server` read forms piece by piece, as no other route does. */
export async function readForms(server: FastifyInstance): Promise<void> {
  server.removeAllContentTypeParsers();
  // `bodyLimit` does not hold for a form that is read as a stream: the size of the file is counted where it is stored
  // (`receiveFile`).
  await server.register(multipart, {
    // One file more than is accepted, and fields enough to name the one that is too many.
    limits: { fileSize: Infinity, fieldSize: FIELD_BYTES_MAX, files: 2, fields: FIELDS.length + 2, parts: 20 },
  });
  server.addContentTypeParser('*', (_request, _payload, done) => done(noForm()));
}

const noForm = () =>
  refuse('validation_error', {
    status: 400,
    say: 'Content-Type must be multipart/form-data, with the CSV file in the field file.',
  });

/** Reads the form of an import part by part, as the import asks for them. */
export const createContactImport: Page<'createContactImport'> = async (ctx, { query }, { reply }) => {
  const { request } = reply;
  if (!request.isMultipart()) throw noForm();
  if ((request.headers['content-type'] ?? '').length > TYPE_CHARS_MAX) throw unread(TYPE_TOO_LONG);
  /** True once the form parser has the body; before that, the server drops the body of a refused request itself. */
  let isReading = false;
  async function* parts(): AsyncGenerator<ImportPart> {
    isReading = true;
    for await (const part of request.parts()) yield toPart(part);
  }
  try {
    const isDryRun = query?.dry_run === true;
    const answer = await (isDryRun ? previewImport(ctx, parts()) : importContacts(ctx, parts()));
    reply.code(isDryRun ? 200 : 201);
    return answer;
  } catch (error) {
    if (!isReading) throw error;
    // The remaining body is read and dropped, so that a sender who reads only after its last byte gets the response;
    // `endSlowUploads` ends that two minutes after the beginning.
    request.raw.unpipe().resume();
    throw formFault(error);
  }
};

function toPart(part: Multipart): ImportPart {
  if (part.type === 'file') return { name: part.fieldname, content: part.file };
  const { fieldname: name, value, valueTruncated: isCut } = part;
  // A part with the type of JSON is parsed already.
  return { name, text: typeof value === 'string' ? value : JSON.stringify(value), isCut };
}

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

/** A signature is of the body byte for byte, so that nothing parses it before. */
export const receivePaymentEvent: Page<'receivePaymentEvent'> = async (ctx, _call, { services, reply }) => {
  const { body, headers } = reply.request;
  await takeEvent(ctx.store, services.payments, { headers, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) });
  return { object: 'payment_event', received: true };
};

/** The body is the picture, byte for byte. */
export const createImage: Page<'createImage'> = async (ctx, _call, { reply }) => {
  const { body } = reply.request;
  reply.code(201);
  return storeImage(ctx, Buffer.isBuffer(body) ? body : Buffer.alloc(0));
};
