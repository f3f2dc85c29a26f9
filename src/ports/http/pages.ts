import {
  addressContract,
  formatContractYaml,
  type OpenApiDocument,
  type PageId,
  type Schema,
} from '../../contract/index.ts';
import {
  sendAttachmentFile,
  exportContacts,
  exportPerson,
  getContactImportFailedRows,
  sendInvoiceCsv,
  sendInvoicePage,
  sendReceivedAttachment,
  sendReceivedRaw,
} from './downloads.ts';
import { docsPolicy, loadDocsScript, renderDocsPage } from './docs-page.ts';
import { createImage, createContactImport, receivePaymentEvent } from './uploads.ts';
import { authorizeClient } from './oauth/authorize-client.ts';
import type { HttpServices, Page } from './page.ts';
import { getPreviewPage, getSharePage } from './share-page/index.ts';
import { readPosition } from '../../features/webhooks/start.ts';
import { refuse } from '../../platform/refusal.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would buffer frames until its buffer is full.
  'x-accel-buffering': 'no',
};

/** Responds with a stream that stays open until one side ends it. */
const listenWebhooks: Page<'listenWebhooks'> = async (ctx, { query, header }, { services, reply }) => {
  const lastId = header?.['Last-Event-ID'];
  const events = readTypes(query?.events, services.document);
  reply.headers(HEADERS);
  // RFC 9110 §9.3.2: a response to HEAD has no content. A stream that is never read would never end.
  if (reply.request.method === 'HEAD') return '';
  const stream = await services.listeners.open(ctx, {
    events,
    position: lastId === undefined ? undefined : readPosition(lastId),
  });
  // If the caller closed the connection while the listener was being opened, no later event ends the stream.
  if (reply.raw.destroyed) stream.destroy();
  return stream;
};

function readTypes(text: string | undefined, document: OpenApiDocument): string[] {
  const known = (document.components.schemas.WebhookEventType as Schema).enum as string[];
  if (text === undefined) return known;
  const types = [...new Set(text.split(',').map((type) => type.trim()))];
  const unknown = types.find((type) => !known.includes(type));
  if (unknown === undefined) return types;
  throw refuse('invalid_parameter', {
    say: `events has ${JSON.stringify(unknown)}, which is not an event type; the event types, separated by commas, are: ${known.join(', ')}.`,
  });
}

/** Responses that exist only over HTTP: pages, files and streams. Every other operation is in operations/. */
export const pages: { [Id in PageId]: Page<Id> } = {
  getOpenapiJson(_ctx, _call, { services, reply }) {
    reply.type('application/json; charset=utf-8').header('cache-control', ASK_AGAIN);
    return writeOnce(services).json();
  },
  getOpenapiYaml(_ctx, _call, { services, reply }) {
    reply.type('application/yaml; charset=utf-8').header('cache-control', ASK_AGAIN);
    return writeOnce(services).yaml();
  },
  getDocs(_ctx, _call, { services, reply }) {
    reply.type('text/html; charset=utf-8').header('cache-control', ASK_AGAIN);
    reply.header('content-security-policy', docsPolicy);
    return (page ??= renderDocsPage(services.document));
  },
  getDocsScript(_ctx, _call, { reply }) {
    reply.type('text/javascript; charset=utf-8').header('cache-control', 'public, max-age=3600');
    return loadDocsScript();
  },
  getSharePage,
  getPreviewPage,
  authorizeClient,
  downloadAttachment: sendAttachmentFile,
  downloadReceivedAttachment: sendReceivedAttachment,
  downloadReceivedRaw: sendReceivedRaw,
  listenWebhooks,
  createContactImport,
  createImage,
  exportContacts,
  exportPerson,
  getContactImportFailedRows,
  getInvoiceCsv: sendInvoiceCsv,
  getInvoicePage: sendInvoicePage,
  receivePaymentEvent,
};

/** The description is public, and may change with an upgrade. */
const ASK_AGAIN = 'no-cache';

let page: string | undefined;

interface Written {
  json(): Buffer;
  yaml(): Promise<Buffer>;
}

const written = new WeakMap<HttpServices, Written>();

/** Returns the forms of the description, each made at its first request: it does not change while the server runs. */
function writeOnce(services: HttpServices): Written {
  const known = written.get(services);
  if (known) return known;
  const { config, origin } = services.world;
  const isDevelopment = config.profile === 'development';
  const forms = writeForms(addressContract(services.document, { origin: origin(), isDevelopment }));
  written.set(services, forms);
  return forms;
}

function writeForms(document: OpenApiDocument): Written {
  let json: Buffer | undefined;
  let yaml: Promise<Buffer> | undefined;
  return {
    json: () => (json ??= Buffer.from(JSON.stringify(document))),
    yaml: () => (yaml ??= formatContractYaml(document).then((text) => Buffer.from(text))),
  };
}
