/** Answers that only HTTP gives: pages, files and streams. Every other operation is in operations/. */
import { addressContract, formatContractYaml, type OpenApiDocument, type PageId } from '../contract/index.ts';
import { sendAttachmentFile } from './attachment-file.ts';
import { docsPolicy, loadDocsScript, renderDocsPage } from './docs-page.ts';
import { exportContacts } from './contact-export.ts';
import { listenWebhooks } from './event-stream.ts';
import { createImage } from './image-upload.ts';
import { createContactImport } from './import-upload.ts';
import { sendInvoiceCsv, sendInvoicePage } from './invoices.ts';
import { authorizeClient } from './oauth/authorize-client.ts';
import type { HttpServices, Page } from './page.ts';
import { receivePaymentEvent } from './payment-event.ts';
import { sendReceivedAttachment, sendReceivedRaw } from './received-file.ts';
import { getSharePage } from './share-page/index.ts';

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
  authorizeClient,
  downloadAttachment: sendAttachmentFile,
  downloadReceivedAttachment: sendReceivedAttachment,
  downloadReceivedRaw: sendReceivedRaw,
  listenWebhooks,
  createContactImport,
  createImage,
  exportContacts,
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
