import { contractOperations } from '../../rig/api.ts';
import { buildPng } from '../../rig/pictures.ts';
import { buildForm } from '../../rig/forms.ts';
import { createInbox } from '../../rig/inboxes.ts';
import { createOauth } from '../../rig/oauth.ts';
import { createPeople } from '../../rig/people.ts';
import type { Scene, Team } from '../../rig/scene.ts';
import { receiveMail } from '../../rig/received-mail.ts';
import { scaled } from '../../rig/scale.ts';
import { plantInvoice } from '../../rig/invoices.ts';
import { plantWebhook, plantWebhookEvent } from '../../rig/webhooks.ts';

export type Operation = ReturnType<typeof contractOperations>[number];

export interface SampleCall {
  method: string;
  path: string;
  body: Record<string, unknown> | undefined;
}

/** The time of the contract's examples, which are all of one morning. */
const EXAMPLE_NOW = Date.parse('2026-11-20T09:30:00.000Z');

/** Returns an example with current times: a send scheduled for the next morning there is scheduled for it here. */
function asOfNow(example: unknown): Record<string, unknown> {
  const moved = JSON.stringify(example).replaceAll(/"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (_, instant: string) =>
    JSON.stringify(new Date(Date.parse(instant) - EXAMPLE_NOW + Date.now())),
  );
  return JSON.parse(moved) as Record<string, unknown>;
}

/** Returns a call of the operation that the contract allows, made of its own examples; ids in the path are unknown ones. */
export function sampleCall(operation: Operation, ids: Record<string, string> = {}): SampleCall {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = operation.parameters.find((parameter) => parameter.name === name)?.example;
    return ids[name] ?? String(example);
  });
  const media = operation.operation.requestBody?.content['application/json'];
  const example = media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
  return {
    method: operation.method.toUpperCase(),
    path,
    body: example === undefined ? undefined : asOfNow(example),
  };
}

/** Returns the parameters that the operation requires, as the contract shows them, and more. */
export function buildQuery(operation: Operation, more: string): string {
  const needed = operation.parameters.filter(
    ({ in: place, required, name }) => place === 'query' && required && !more.startsWith(`${name}=`),
  );
  const all = [...needed.map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`), more];
  return all.filter((one) => one !== '').join('&');
}

const isWhole = scaled(1) > 1;

/**
 * Returns the kinds of a fault that the operation at this place is tested with: every kind on some operations, and
 * every operation with `each` of them. With RASKET_TEST_SCALE it is every kind on every operation.
 */
export const dealt = <T>(kinds: readonly T[], at: number, each = 2): readonly T[] =>
  isWhole ? kinds : kinds.filter((_, kind) => (kind + at) % kinds.length < each);

export const formatLabel = (operation: Operation): string => `${operation.method.toUpperCase()} ${operation.path}`;

const isOperators = (operation: Operation): boolean => operation.operation['x-service-permission'] === 'operator';

/** Returns whether an operation is for signed-in people and not for keys; the tests of its families are by people. */
export const isOfPeople = ({ operation }: Operation): boolean =>
  operation['x-service-permission'] === 'session' || operation['x-same-origin'] === true;

/** These have error formats and credentials of their own, which their family tests. */
const isOfOauth = ({ operation }: Operation): boolean =>
  operation['x-oauth-flow'] === true || operation['x-mcp'] === true;

/** These do not exist in the profile of these scenes; their family tests them. */
const isOfDevelopment = ({ operation }: Operation): boolean => operation['x-development'] === true;

export const operations = contractOperations().filter(
  (operation) =>
    !isOperators(operation) && !isOfPeople(operation) && !isOfOauth(operation) && !isOfDevelopment(operation),
);
/** Operations of the whole installation, which no team's key may call. */
export const operatorOperations = contractOperations().filter(isOperators);
export const keyed = operations.filter((operation) => operation.operation['x-service-permission'] !== 'none');
export const open = operations.filter((operation) => operation.operation['x-service-permission'] === 'none');
export const lists = operations.filter((operation) => operation.parameters.some(({ name }) => name === 'limit'));
/** The other lists are read only from their beginning. */
export const pagedLists = lists.filter((operation) => operation.parameters.some(({ name }) => name === 'after'));
/** A signed link needs its token in the query before anything else is checked; its family tests invalid ones. */
export const unsigned = operations.filter(({ parameters }) => !parameters.some((p) => p.in === 'query' && p.required));
export const takesList = (operation: Operation): boolean => Array.isArray(sampleCall(operation).body);
/** Its body is a form with a file, or the file itself, which its family tests. */
export const takesFile = ({ operation: { requestBody } }: Operation): boolean =>
  requestBody !== undefined && requestBody.content['application/json'] === undefined;
/** Its body may also be a plain list, which its family tests. */
export const mayBeBareList = (operation: Operation): boolean => operation.operation['x-bare-list'] !== undefined;
export const withBody = operations.filter(
  (operation) => operation.operation.requestBody?.content['application/json'] !== undefined,
);

/** Makes one object of the team for each id in a path. A new kind of id needs its maker here. */
export const makers: Record<string, (scene: Scene, team: Team) => Promise<string>> = {
  email_id: async (scene, team) => {
    const domain = await team.domain();
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
    return (await scene.api('POST', '/emails', { key: team.key, body })).body.id;
  },
  domain_id: async (_, team) => (await team.domain()).id,
  api_key_id: async (scene, team) =>
    (await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'One' } })).body.id,
  attachment_id: async (scene, team) => {
    const domain = await team.domain();
    const attachments = [{ filename: 'a.txt', content: 'QQ==' }];
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'File', text: 'See below.', attachments };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    return (await scene.api('GET', `/emails/${id}/attachments`, { key: team.key })).body.data[0].id;
  },
  template: async (scene, team) =>
    (await scene.api('POST', '/templates', { key: team.key, body: { name: 'One', html: '<p>One</p>' } })).body.id,
  log_id: async (scene, team) =>
    (await scene.api('GET', '/domains', { key: team.key })).headers.get('x-request-id') ?? '',
  webhook_id: (scene, team) => plantWebhook(scene, team),
  // It belongs to the endpoint made before it, because both are in one path.
  event_id: async (scene, team) => {
    const { body } = await scene.api('GET', '/webhooks', { key: team.key });
    return plantWebhookEvent(scene, team, body.data[0].id);
  },
  received_email_id: (scene, team) => receiveMail(scene, team),
  // It belongs to the email received before it, because both are in one path.
  received_attachment_id: async (scene, team) => {
    const { body } = await scene.api('GET', '/emails/receiving', { key: team.key });
    return body.data[0].attachments[0].id;
  },
  // It is made before the rule below, which drops everything.
  inbox: async (scene, team) => (await createInbox(scene, team)).id,
  // It belongs to the inbox made before it, because both are in one path.
  label_id: async (scene, team) => {
    const { id } = (await scene.api('GET', '/inboxes', { key: team.key })).body.data[0];
    return (await scene.api('POST', `/inboxes/${id}/labels`, { key: team.key, body: { name: 'One' } })).body.id;
  },
  thread_id: async (scene, team) => {
    const { id, email_address: to } = (await scene.api('GET', '/inboxes', { key: team.key })).body.data[0];
    await receiveMail(scene, team, { to: [to] });
    return (await scene.api('GET', `/inboxes/${id}/threads`, { key: team.key })).body.data[0].id;
  },
  inbox_email_id: async (scene, team) => {
    const { id } = (await scene.api('GET', '/inboxes', { key: team.key })).body.data[0];
    const [thread] = (await scene.api('GET', `/inboxes/${id}/threads`, { key: team.key })).body.data;
    return (await scene.api('GET', `/inboxes/${id}/threads/${thread.id}/emails`, { key: team.key })).body.data[0].id;
  },
  form_id: async (scene, team) => {
    const { name } = await team.domain();
    const topic = { name: 'Sign-ups', default_subscription: 'opt_out' };
    const { id } = (await scene.api('POST', '/topics', { key: team.key, body: topic })).body;
    const body = { name: 'Newsletter', topic_id: id, from: `a@${name}` };
    return (await scene.api('POST', '/forms', { key: team.key, body })).body.id;
  },
  inbound_rule_id: async (scene, team) =>
    (await scene.api('POST', '/inbound-rules', { key: team.key, body: { pattern: '*', action: 'drop' } })).body.id,
  draft_id: async (scene, team) => {
    const { id } = (await scene.api('GET', '/inboxes', { key: team.key })).body.data[0];
    return (await scene.api('POST', `/inboxes/${id}/drafts`, { key: team.key, body: { text: 'One' } })).body.id;
  },
  contact: async (scene, team) =>
    (await scene.api('POST', '/contacts', { key: team.key, body: { email: 'one@example.org' } })).body.id,
  contact_property_id: async (scene, team) =>
    (await scene.api('POST', '/contact-properties', { key: team.key, body: { key: 'plan', type: 'string' } })).body.id,
  segment: async (scene, team) =>
    (
      await scene.api('POST', '/segments', {
        key: team.key,
        // Every contact is in it, whichever is in one path with it.
        body: { name: 'One', filter: { field: 'email', op: 'contains', value: '@' } },
      })
    ).body.id,
  broadcast_id: async (scene, team) =>
    (await scene.api('POST', '/broadcasts', { key: team.key, body: { from: 'a@example.org', subject: 'One' } })).body
      .id,
  invoice_id: (scene, team) => plantInvoice(scene, team),
  image_id: async (scene, team) =>
    (await scene.api('POST', '/images', { key: team.key, body: buildPng(1, 1) })).body.id,
  import_id: async (scene, team) =>
    (await scene.api('POST', '/contacts/imports', { key: team.key, ...buildForm('email\none@example.org\n') })).body.id,
  topic_id: async (scene, team) =>
    (await scene.api('POST', '/topics', { key: team.key, body: { name: 'One', default_subscription: 'opt_in' } })).body
      .id,
  identifier: async (scene, team) =>
    (await scene.api('POST', '/events', { key: team.key, body: { name: 'one' } })).body.id,
  automation_id: async (scene, team) => {
    const config = { event_name: 'rasket:contact.updated' };
    const graph = { steps: [{ key: 'start', type: 'trigger', config }], connections: [] };
    const body = { name: 'One', status: 'enabled', ...graph };
    return (await scene.api('POST', '/automations', { key: team.key, body })).body.id;
  },
  // It belongs to the automation made before it, because both are in one path.
  run_id: async (scene, team) => {
    await scene.api('POST', '/contacts', { key: team.key, body: { email: 'run@example.org' } });
    await scene.api('PATCH', '/contacts/run@example.org', { key: team.key, body: { first_name: 'Run' } });
    const { body } = await scene.api('GET', '/automations', { key: team.key });
    return (await scene.api('GET', `/automations/${body.data[0].id}/runs`, { key: team.key })).body.data[0].id;
  },
  oauth_grant_id: async (scene, team) => {
    const owner = await createPeople(scene).person({ team, role: 'owner' });
    const oauth = createOauth(scene);
    await oauth.letIn(owner, await oauth.register());
    return (await scene.api('GET', '/oauth/grants', { key: team.key })).body.data[0].id;
  },
  oauth_client_id: async (scene) => {
    const { clientId } = await createOauth(scene).register();
    const key = await scene.operator();
    return (await scene.api('GET', `/operator/oauth-clients?search=${clientId}`, { key })).body.data[0].id;
  },
  approval_id: async (scene, team) => {
    const owner = await createPeople(scene).person({ team, role: 'owner' });
    const oauth = createOauth(scene);
    const scope = { scope: 'emails:send' };
    const { access_token: key } = await oauth.letIn(owner, await oauth.register(), scope, { approval: 'sends' });
    const body = { from: 'a@example.com', to: 'b@example.org', subject: 'Hello', text: 'x' };
    return (await scene.api('POST', '/emails', { key, body })).body.details.approval_id;
  },
  suppression: async (scene, team) =>
    (await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'gone@example.org' } })).body.id,
};
