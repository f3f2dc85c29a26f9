/**
 * What an app that acts for a person may be allowed, and how the consent page says it. An operation names its scope as
 * `x-service-scope`; this is the one list of those there are.
 */
export const SCOPES = {
  'emails:send': 'Send emails from your team’s domains, and change or cancel scheduled ones',
  'emails:read': 'Read emails that were sent and received, with their content and attachments, and share links to them',
  'inbox:read': 'Read your inboxes, their threads, notes and drafts',
  'inbox:write': 'Answer from your inboxes, sort their threads, and create, change and delete inboxes',
  'templates:read': 'Read your templates',
  'templates:write': 'Create, change, publish and delete templates',
  'contacts:read': 'Read your contacts, with their properties, segments and topics, and export them',
  'contacts:write': 'Create, change, import and delete contacts, properties, segments and topics',
  'broadcasts:read': 'Read broadcasts, their recipients and reports, and your images',
  'broadcasts:write': 'Create, change, send and delete broadcasts to your contacts, and images',
  'events:read': 'Read the definitions of your custom events',
  'events:write': 'Create, change and delete the definitions of custom events',
  'events:send': 'Report events of your contacts, which start automations',
  'automations:read': 'Read automations and their runs',
  'automations:write': 'Create, change, stop and delete automations',
  'logs:read': 'Read the logs of your team’s API requests, with what was said in those that it may make itself',
  'team:read': 'Read your team’s profile, plan and sender identity',
  'team:write': 'Change your team’s sender identity and settings',
  'ai:use': 'Use the AI helpers, which cost credits and send what they are asked about to a model',
  'billing:read': 'Read your team’s plan, the prices, and its invoices',
} as const;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];

export const isScope = (name: string): name is Scope => Object.hasOwn(SCOPES, name);

/** What an app is allowed that asks for nothing by name. */
export const READING_SCOPES = SCOPE_NAMES.filter((name) => name.endsWith(':read'));

/** The scopes as a table of the introduction. */
export const describeScopes = (): string =>
  [
    '| Scope | What it allows |',
    '| --- | --- |',
    ...SCOPE_NAMES.map((name) => `| \`${name}\` | ${SCOPES[name]} |`),
  ].join('\n');
