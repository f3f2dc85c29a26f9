import { expect, test } from 'vitest';
import {
  listOperations,
  loadContract,
  resolveRef,
  type OpenApiDocument,
  type OperationEntry,
  type Schema,
} from '../../src/contract/index.ts';
import { asksForWriter, computeEffect, computeLeastEffect } from '../../src/tenancy/access/index.ts';

const SENDS = new Set(['sends', 'starts_mail', 'starts_mailing', 'sends_broadcast']);

const isReachedByApps = ({ method, operation }: OperationEntry): boolean =>
  method !== 'get' && operation['x-service-scope'] !== null;

const listFields = (document: OpenApiDocument, { operation }: OperationEntry) => {
  const media = operation.requestBody?.content['application/json'];
  const { properties = {} } = media ? resolveRef<Schema>(document, media.schema) : {};
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    /** The shared schema of the field, if it has one. */
    ref: '$ref' in schema ? schema.$ref : undefined,
    schema: resolveRef<Schema>(document, schema),
  }));
};

/** Reports whether a value of the schema can contain text that somebody chose. */
function holdsText({ type, enum: values, format, anyOf, const: constant }: Schema): boolean {
  if (values !== undefined || constant !== undefined || format === 'uuid') return false;
  if (anyOf || type === undefined) return true;
  return [type].flat().some((one) => one === 'string' || one === 'array' || one === 'object');
}

/**
 * Lists the operations and fields of a contract that an app can call with the effect `changes`, and whose authors have
 * not stated why no mail of others contains what they write; and the statements that the rest of the contract refutes.
 */
function listUnstated(document: OpenApiDocument): string[] {
  const all = listOperations(document).filter(isReachedByApps);
  const sending = all.filter(({ method, operation }) => SENDS.has(computeEffect({ method, operation }, undefined)));
  const writesMail = new Set(
    sending
      .filter(({ operation }) => operation['x-service-effect'] === 'sends')
      .flatMap((entry) => listFields(document, entry))
      .filter(({ schema }) => holdsText(schema))
      .map(({ name }) => name),
  );
  const inMail = new Set(
    all.flatMap((entry) =>
      listFields(document, entry)
        .filter(({ name }) => computeEffect(entry, { [name]: 'x' }) === 'alters_mail' && !asksForWriter(entry))
        .flatMap(({ ref }) => ref ?? []),
    ),
  );
  return all.flatMap((entry) => {
    const { operationId, method, operation } = entry;
    if (operation['x-service-effect'] === undefined) return [`${operationId}: no effect`];
    const why = operation['x-service-not-in-mail'];
    if (computeLeastEffect(entry) !== 'changes') {
      return why === undefined ? [] : [`${operationId}: its least effect is not changes, so it needs no reason`];
    }
    const fields = listFields(document, entry);
    const texts = fields.filter(
      ({ name, schema }) => holdsText(schema) && computeEffect(entry, { [name]: 'x' }) === 'changes',
    );
    const isWhole = typeof why === 'string';
    // One reason for all fields would cover a field that is added later and does alter mail.
    const mustBeByField =
      !asksForWriter(entry) && (method !== 'post' || JSON.stringify(operation['x-service-effect']).includes('alters'));
    if (isWhole && mustBeByField && texts.length > 0) return [`${operationId}: needs a reason for each field`];
    const stated = isWhole ? texts.map(({ name }) => name) : Object.keys(why ?? {});
    const unknown = stated.filter((name) => !texts.some((field) => field.name === name));
    const altersOthers = method !== 'post' && !asksForWriter(entry);
    return [
      ...(fields.length === 0 && why === undefined ? [`${operationId}: no reason`] : []),
      ...texts.filter(({ name }) => !stated.includes(name)).map(({ name }) => `${operationId}.${name}: no reason`),
      ...unknown.map((name) => `${operationId}.${name}: not a text with the effect changes`),
      ...texts
        .filter(({ name, ref }) => (ref !== undefined && inMail.has(ref)) || (altersOthers && writesMail.has(name)))
        .map(({ name }) => `${operationId}.${name}: other operations write it into mail`),
    ];
  });
}

const copy = (): OpenApiDocument => structuredClone(loadContract());

/** Adds an operation that writes a field, as a new feature would. */
function plant(document: OpenApiDocument, path: string, more: object, properties: object): void {
  const model = document.paths['/inboxes/{inbox}']?.patch;
  if (!model) throw new Error('no operation to copy was found in the contract');
  const { 'x-service-not-in-mail': _, ...rest } = model;
  const schema = { type: 'object', properties };
  const requestBody = { content: { 'application/json': { schema } } };
  document.paths[path] = { patch: { ...rest, operationId: 'planted', requestBody, ...more } as typeof model };
}

test('every operation that an app can call sends, alters mail, or states why it does not', () => {
  expect(listUnstated(loadContract())).toEqual([]);
});

test('a new operation without an effect is found', () => {
  const document = copy();
  plant(document, '/inboxes/{inbox}/footer', { 'x-service-effect': undefined }, { footer: { type: 'string' } });
  expect(listUnstated(document)).toEqual(['planted: no effect']);
});

test('a new operation that writes text is found if neither its effect nor a reason covers the text', () => {
  const document = copy();
  plant(document, '/inboxes/{inbox}/footer', { 'x-service-effect': 'changes' }, { footer: { type: 'string' } });
  expect(listUnstated(document)).toEqual(['planted.footer: no reason']);
});

test('a new operation without a body is found if neither its effect nor a reason covers it', () => {
  const document = copy();
  const more = { 'x-service-effect': 'changes', requestBody: undefined };
  plant(document, '/inboxes/{inbox}/reset-signature', more, {});
  expect(listUnstated(document)).toEqual(['planted: no reason']);
});

test('one reason for a whole change is refused where each field needs its own', () => {
  const document = copy();
  const more = { 'x-service-effect': 'changes', 'x-service-not-in-mail': 'shown only to the team' };
  plant(document, '/inboxes/{inbox}/footer', more, { footer: { type: 'string' } });
  expect(listUnstated(document)).toEqual(['planted: needs a reason for each field']);
});

test('a reason is refused for a field that other operations write into mail', () => {
  const document = copy();
  const reasons = { signature: 'shown only to the team', subject: 'shown only to the team' };
  const more = { 'x-service-effect': 'changes', 'x-service-not-in-mail': reasons };
  const signature = { $ref: '#/components/schemas/InboxSignature' };
  plant(document, '/inboxes/{inbox}/closing', more, { signature, subject: { type: 'string' } });
  expect(listUnstated(document)).toEqual([
    'planted.signature: other operations write it into mail',
    'planted.subject: other operations write it into mail',
  ]);
});

test('a new field of the settings of an inbox is found', () => {
  const document = copy();
  const schema = document.components.schemas['UpdateInboxRequest'];
  if (!schema?.properties) throw new Error('the schema of the settings of an inbox was not found in the contract');
  schema.properties['closing'] = { type: 'string' };
  expect(listUnstated(document)).toEqual(['updateInbox.closing: no reason']);
});

test.each([
  'createContactProperty',
  'createInbox',
  'deleteContactProperty',
  'publishTemplate',
  'updateBroadcast',
  'updateContactProperty',
  'updateInbox',
  'updateInboxDraft',
  'updateTeam',
  'updateTemplate',
  'updateTopic',
])('a %s that no longer counts as altering mail is found', (operationId) => {
  const document = copy();
  const entry = listOperations(document).find((one) => one.operationId === operationId);
  if (!entry) throw new Error(`the contract has no ${operationId}`);
  entry.operation['x-service-effect'] = 'changes';
  expect(listUnstated(document)).toContainEqual(expect.stringMatching(new RegExp(`^${operationId}[.:]`)));
});
