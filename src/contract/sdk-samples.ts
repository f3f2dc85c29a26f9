import { methods, resolveRef, type OpenApiDocument, type Operation, type PathItem } from './document.ts';

/**
 * How the official `resend` client makes each call it has a method for. `$id` is the example of the path's own parameter,
 * `$body` the example of the body with its names as the client writes them, `$fields` the same without its braces, `$sent`
 * the example as it is.
 */
export const SDK_CALLS: Readonly<Record<string, string>> = {
  sendEmail: 'emails.send($body)',
  sendBatch: 'batch.send($body)',
  listEmails: 'emails.list()',
  getEmail: 'emails.get($id)',
  updateEmail: 'emails.update({ id: $id, $fields })',
  cancelEmail: 'emails.cancel($id)',
  createDomain: 'domains.create($body)',
  listDomains: 'domains.list()',
  getDomain: 'domains.get($id)',
  updateDomain: 'domains.update({ id: $id, $fields })',
  deleteDomain: 'domains.remove($id)',
  verifyDomain: 'domains.verify($id)',
  createApiKey: 'apiKeys.create($sent)',
  listApiKeys: 'apiKeys.list()',
  updateApiKey: 'apiKeys.update($id, $body)',
  deleteApiKey: 'apiKeys.remove($id)',
  createTemplate: 'templates.create($body)',
  listTemplates: 'templates.list()',
  getTemplate: 'templates.get($id)',
  updateTemplate: 'templates.update($id, $body)',
  deleteTemplate: 'templates.remove($id)',
  publishTemplate: 'templates.publish($id)',
  duplicateTemplate: 'templates.duplicate($id)',
  createWebhook: 'webhooks.create($body)',
  listWebhooks: 'webhooks.list()',
  getWebhook: 'webhooks.get($id)',
  updateWebhook: 'webhooks.update($id, $body)',
  deleteWebhook: 'webhooks.remove($id)',
  createContact: 'contacts.create($body)',
  listContacts: 'contacts.list()',
  getContact: 'contacts.get({ id: $id })',
  updateContact: 'contacts.update({ id: $id, $fields })',
  deleteContact: 'contacts.remove({ id: $id })',
  createContactProperty: 'contactProperties.create($body)',
  listContactProperties: 'contactProperties.list()',
  getContactProperty: 'contactProperties.get($id)',
  deleteContactProperty: 'contactProperties.remove($id)',
  createSegment: 'segments.create($body)',
  listSegments: 'segments.list()',
  getSegment: 'segments.get($id)',
  updateSegment: 'segments.update($id, $body)',
  deleteSegment: 'segments.remove($id)',
  createTopic: 'topics.create($body)',
  listTopics: 'topics.list()',
  getTopic: 'topics.get($id)',
  deleteTopic: 'topics.remove($id)',
  createSuppression: 'suppressions.add($body)',
  listSuppressions: 'suppressions.list()',
  getSuppression: 'suppressions.get($id)',
  deleteSuppression: 'suppressions.remove($id)',
  listReceivedEmails: 'emails.receiving.list()',
  getReceivedEmail: 'emails.receiving.get($id)',
  getUsage: 'usage.get()',
  listLogs: 'logs.list()',
  getLog: 'logs.get($id)',
};

/** Adds the call to every operation that the client has a method for; curl and Python are for the reader of the document to make. */
export function addSdkSamples(document: OpenApiDocument): void {
  for (const item of Object.values(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      const call = operation && SDK_CALLS[operation.operationId];
      if (!call) continue;
      const source = `${PREAMBLE}\n\nconst { data, error } = await resend.${filledIn(document, item, operation, call)};\n`;
      operation['x-codeSamples'] = [{ lang: 'JavaScript', label: 'resend', source }];
    }
  }
}

const PREAMBLE = `import { Resend } from 'resend';

// With RESEND_BASE_URL set to the address of this server.
const resend = new Resend(process.env.RASKET_API_KEY);`;

function filledIn(document: OpenApiDocument, item: PathItem, operation: Operation, call: string): string {
  const id = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
    .map((parameter) => resolveRef(document, parameter))
    .find((parameter) => parameter.in === 'path');
  const media = operation.requestBody?.content['application/json'];
  const body = media && (media.example ?? Object.values(media.examples ?? {})[0]?.value);
  const text = literal(body);
  return call
    .replace('$id', () => literal(id?.example))
    .replace('$body', () => text)
    .replace('$sent', () => literal(body, (name) => name))
    .replace(' $fields }', () => `${text.slice(1)}`);
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_pair, letter: string) => letter.toUpperCase());

/** As JavaScript is written: names without quotes, renamed where they are the API's; those in objects of the caller's stay. */
function literal(value: unknown, rename = camelCase): string {
  const depth = Array.isArray(value) ? 4 : 2;
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  return text.replace(/^( +)"([A-Za-z_]\w*)":/gm, (_all, { length }: string, name: string) => {
    const isField = length === depth || length === depth + 4;
    return `${' '.repeat(length)}${isField ? rename(name) : name}:`;
  });
}
